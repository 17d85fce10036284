// SPDX-License-Identifier: MIT
#include "agent/swap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent_facts.h"
#include "agent/capture.h"
#include "agent/capture_choice.h"
#include "agent/code_objects.h"
#include "agent/object_table.h"
#include "agent/omniprobe.h"
#include "agent/probe.h"
#include "agent/runtime.h"
#include "agent/session.h"
#include "agent/swap_loader.h"
#include "agent/swap_samples.h"
#include "agent/symbols.h"
#include "agent/thread_state.h"
#include "agent/write_all.h"
#include "base/mutex.h"
#include "codeobj/cache_list.h"
#include "codeobj/code_object.h"
#include "codeobj/elf_view.h"
#include "codeobj/swap.h"
#include "contract/variables.h"
#include "trace/records.h"

namespace rochound::agent {

constinit std::atomic<bool> internal::swap_requested{false};

// A candidate in an original's place. Kept for ever: a thread may be using it.
struct Swap {
  uint64_t object = 0;                // the candidate's
  uint64_t omniprobe_descriptor = 0;  // of a kernel that omniprobe instrumented
  codeobj::SwapPlan plan;
  uint64_t most_group_bytes = 0;
  std::string symbol;
  std::string samples_folder;            // for captured launches
  const std::string* code = nullptr;     // the candidate's code object
  uint32_t original = 0, candidate = 0;  // ids in the log
  uint32_t file = 0;                     // string id
  bool alternates = false;
  std::atomic<uint64_t> launches{0};
  std::atomic<bool> launch_refused{false};  // said already
  SwapSamples samples;
};

namespace {

using codeobj::CacheEntry;
using codeobj::SwapLaunch;
using Decision = trace::SwapDecision;
using Bytes = std::shared_ptr<const std::vector<std::byte>>;

// By the original's kernel object: filled under `deciding`. What is in it may be nothing.
constinit ObjectTable<std::atomic<Swap*>, 13> swaps;
constinit std::atomic<bool> any_swapped{false};
constinit base::Mutex deciding;
constinit std::atomic<uint64_t> most_samples{0};  // of each kernel
// Two captures at once would wait for each other's queues.
constinit std::atomic<bool> sampling{false};

Swap* FindSwap(uint64_t object) {
  const std::atomic<Swap*>* const found = swaps.Find(object);
  return found != nullptr ? found->load(std::memory_order_acquire) : nullptr;
}

void ForgetSwap(uint64_t object) ROCHOUND_REQUIRES(deciding) {
  if (std::atomic<Swap*>* const known = swaps.Find(object))
    known->store(nullptr, std::memory_order_release);
}

// False: the table is full.
bool PutSwap(uint64_t object, Swap* swap) ROCHOUND_REQUIRES(deciding) {
  any_swapped.store(true, std::memory_order_relaxed);
  return swaps.Put(object, [&](std::atomic<Swap*>& value, bool /*fresh*/) {
    value.store(swap, std::memory_order_release);
  });
}

// A kernel that the program has.
struct Original {
  uint32_t id = 0;
  std::string symbol;
  uint16_t agent = 0;
  Bytes code;         // that was decided about last
  uint64_t base = 0;  // where it was loaded
};

struct Noted {  // a record of the log
  Decision decision;
  uint32_t original, candidate, file, reason;
};

// Where a candidate was loaded: the GPU, and the variables that it was bound to.
using LoadedFor = std::pair<uint16_t, std::vector<std::pair<std::string, uint64_t>>>;

// A code object of the cache. Kept for ever: the runtime may go on reading its bytes.
struct Candidate {
  std::string bytes;
  codeobj::CodeObject object;
  std::map<LoadedFor, hsa_executable_t> loaded;
};

struct Cache {
  std::string list;     // path
  std::string samples;  // folder for captured launches
  bool shared = false;
  bool alternate = false;
  uint64_t read = 0;  // bytes of the list
  std::map<std::string, std::vector<CacheEntry>, std::less<>> by_symbol;
  std::map<std::string, std::string, std::less<>> symbol_by_called;
  std::map<uint64_t, Original> originals;  // by kernel object
  std::map<std::pair<std::string, uint64_t>, std::unique_ptr<Candidate>> candidates;
  Bytes parsed_bytes;  // what `parsed` was read from; null: nothing
  codeobj::CodeObject parsed;
  std::vector<std::unique_ptr<Swap>> swaps;
  std::vector<Noted> noted;
};

Cache& TheCache() ROCHOUND_REQUIRES(deciding) {
  static auto* const cache = new Cache;
  return *cache;
}

void Write(const Noted& noted) {
  ThreadState* const thread = CurrentThread();
  if (thread == nullptr) return;
  if (auto* record = thread->log->Reserve<trace::Swap>()) {
    record->now_tsc = trace::ReadTsc();
    record->candidate = noted.candidate;
    record->file = noted.file;
    record->reason = noted.reason;
    record->reserved = 0;
    thread->log->Commit(record, static_cast<uint16_t>(noted.decision), noted.original);
  }
}

void RecordDecision(Decision decision, uint32_t original, uint32_t candidate, std::string_view file,
                    std::string_view reason) ROCHOUND_REQUIRES(deciding) {
  constexpr size_t kMostRepeated = 10'000;
  const Noted noted{decision, original, candidate, Intern(file),
                    reason.empty() ? 0 : Intern(reason)};
  Write(noted);
  if (TheCache().noted.size() < kMostRepeated) TheCache().noted.push_back(noted);
}

std::string_view View(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

// The candidate's code object as it is read; null: *problem says why.
Candidate* ReadCandidate(const CacheEntry& entry, std::string* problem)
    ROCHOUND_REQUIRES(deciding) {
  Cache& cache = TheCache();
  auto& known = cache.candidates[{entry.object, entry.round}];
  if (known != nullptr) return known.get();
  auto fresh = std::make_unique<Candidate>();
  if (!ReadTrustedFile(entry.object, cache.shared, &fresh->bytes, problem)) return nullptr;
  auto parsed = codeobj::CodeObject::Parse(fresh->bytes);
  if (!parsed.ok()) {
    *problem = parsed.error().message;
    return nullptr;
  }
  fresh->object = std::move(parsed).value();
  known = std::move(fresh);
  return known.get();
}

std::optional<codeobj::Target> TargetOf(uint16_t agent) {
  const auto target = codeobj::ParseTarget(DescribeAgent(agent).isa);
  return target.ok() ? std::optional(target.value()) : std::nullopt;
}

// A candidate that fits.
struct Fitting {
  const CacheEntry* entry;
  Candidate* candidate;
  codeobj::SwapPlan plan;
};

// Decides about one original.
class Choice {
 public:
  Choice(const Original& original, uint64_t object, const LoadedCode& code)
      : original_(original), object_(object), code_(code) {}

  void Make(const std::vector<CacheEntry>& entries) ROCHOUND_REQUIRES(deciding) {
    const codeobj::CodeObject* const parsed = ParseOriginal();
    const std::optional<codeobj::Target> gpu = TargetOf(original_.agent);
    std::vector<Fitting> fitting;
    const CacheEntry* itself = nullptr;
    for (const CacheEntry& entry : entries) {
      std::string problem;
      Candidate* const candidate = ReadCandidate(entry, &problem);
      if (candidate == nullptr) {
        Refuse(entry, problem);
      } else if (candidate->bytes == View(code_.object)) {
        itself = &entry;
        Refuse(entry, "it is the program's own code object");
      } else if (parsed == nullptr) {
        Refuse(entry, "the program's code object cannot be read");
      } else {
        auto plan = codeobj::PlanSwap({*parsed, View(code_.object)},
                                      {candidate->object, candidate->bytes}, original_.symbol, gpu);
        if (plan.ok() && plan.value().omniprobe && !ProbeRequested())
          Refuse(entry,
                 "omniprobe has instrumented it, and nobody listens: rochound probe -c does");
        else if (plan.ok())
          fitting.push_back({&entry, candidate, std::move(plan).value()});
        else
          Refuse(entry, plan.error().message);
      }
    }
    KeepNewest(&fitting);
    if (itself != nullptr) {
      // A cache that the program itself fills (Triton's): what else fits is another
      // specialization of the kernel, and no replacement.
      for (const Fitting& one : fitting)
        Refuse(*one.entry, "the cache has the program's own code object, too: " + itself->file);
    } else if (fitting.size() > 1) {
      std::string files;
      for (const Fitting& one : fitting) files += (files.empty() ? "" : ", ") + one.entry->file;
      for (const Fitting& one : fitting)
        Refuse(*one.entry, "several files fit, and only one of them can be used: " + files);
    } else if (fitting.size() == 1) {
      Use(fitting[0]);
    }
  }

 private:
  // A code object may have thousands of kernels, which are asked for one after the other.
  const codeobj::CodeObject* ParseOriginal() const ROCHOUND_REQUIRES(deciding) {
    Cache& cache = TheCache();
    if (cache.parsed_bytes != code_.object) {
      auto parsed = codeobj::CodeObject::Parse(View(code_.object));
      cache.parsed_bytes = parsed.ok() ? code_.object : nullptr;
      if (!parsed.ok()) return nullptr;
      cache.parsed = std::move(parsed).value();
    }
    return &cache.parsed;
  }

  // What was added while the program runs is what is wanted now.
  static void KeepNewest(std::vector<Fitting>* fitting) {
    uint64_t newest = 0;
    for (const Fitting& one : *fitting) newest = std::max(newest, one.entry->round);
    std::erase_if(*fitting, [&](const Fitting& one) { return one.entry->round != newest; });
  }

  // Once for each GPU, and, if it uses variables of the original's, for each place of these.
  bool Load(const Fitting& chosen, hsa_executable_t* executable, std::string* problem) const {
    std::vector<BoundVariable> variables;
    LoadedFor key(original_.agent, {});
    for (const codeobj::SwapPlan::Binding& binding : chosen.plan.bindings) {
      variables.push_back({binding.name, binding.address + code_.delta});
      key.second.emplace_back(binding.name, binding.address + code_.delta);
    }
    auto& loaded = chosen.candidate->loaded;
    if (const auto known = loaded.find(key); known != loaded.end()) {
      *executable = known->second;
      return true;
    }
    if (!LoadCode(original_.agent, chosen.candidate->bytes, variables, executable, problem))
      return false;
    loaded[key] = *executable;
    return true;
  }

  void Use(const Fitting& chosen) ROCHOUND_REQUIRES(deciding) {
    LoadedKernel kernel;
    hsa_executable_t executable{};
    std::string problem;
    if (!Load(chosen, &executable, &problem) ||
        !FindLoadedKernel(executable, original_.agent, chosen.plan.candidate_kernel, &kernel,
                          &problem))
      return Refuse(*chosen.entry, problem);
    auto swap = std::make_unique<Swap>();
    if (chosen.plan.omniprobe) {
      swap->omniprobe_descriptor = MakeOmniprobeDescriptor(original_.symbol, original_.agent);
      if (swap->omniprobe_descriptor == 0)
        return Refuse(*chosen.entry, "there is no memory for its messages");
    }
    swap->object = kernel.object;
    swap->plan = chosen.plan;
    swap->most_group_bytes = MostGroupBytes(original_.agent);
    swap->symbol = original_.symbol;
    swap->samples_folder = TheCache().samples;
    swap->code = &chosen.candidate->bytes;
    swap->original = original_.id;
    swap->candidate = AddKernel(kernel.object, original_.symbol, executable, original_.agent,
                                kernel.kernarg_bytes);
    swap->file = Intern(chosen.entry->file);
    swap->alternates = TheCache().alternate;
    const Decision decision = swap->alternates ? Decision::kAlternating : Decision::kSwapped;
    const uint32_t candidate = swap->candidate;
    TheCache().swaps.push_back(std::move(swap));
    if (!PutSwap(object_, TheCache().swaps.back().get()))
      return Refuse(*chosen.entry, "too many kernels are swapped");
    RecordDecision(decision, original_.id, candidate, chosen.entry->file, "");
  }

  void Refuse(const CacheEntry& entry, const std::string& reason) const
      ROCHOUND_REQUIRES(deciding) {
    RecordDecision(Decision::kRefused, original_.id, 0, entry.file, reason);
  }

  const Original& original_;
  const uint64_t object_;
  const LoadedCode& code_;
};

// entries: those that are new, or all.
void Decide(uint64_t object, Original* original, const std::vector<CacheEntry>& entries)
    ROCHOUND_REQUIRES(deciding) {
  LoadedCode code;
  if (!FindLoadedCode(object, &code) || code.object == nullptr) {
    for (const CacheEntry& entry : entries)
      RecordDecision(Decision::kRefused, original->id, 0, entry.file,
                     "the original's code object is not in memory any more");
    return;
  }
  original->code = code.object;
  original->base = code.base;
  Choice(*original, object, code).Make(entries);
}

// The program has a kernel of this name, but with other parameters.
void RecordNearMiss(const Original& original) ROCHOUND_REQUIRES(deciding) {
  const std::string readable = ReadableName(original.symbol);
  const Cache& cache = TheCache();
  const auto near = cache.symbol_by_called.find(codeobj::WithoutParameters(readable));
  if (near == cache.symbol_by_called.end() || near->second == original.symbol) return;
  const auto entries = cache.by_symbol.find(near->second);
  if (entries == cache.by_symbol.end()) return;
  RecordDecision(Decision::kRefused, original.id, 0, entries->second.front().file,
                 "it has '" + ReadableName(near->second) + "', and the program '" + readable + "'");
}

// Reads what is new in the list: the entries of each symbol.
std::map<std::string, std::vector<CacheEntry>> ReadList() ROCHOUND_REQUIRES(deciding) {
  Cache& cache = TheCache();
  std::map<std::string, std::vector<CacheEntry>> fresh;
  const int file = open(cache.list.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return fresh;
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = pread(file, buffer, sizeof buffer,
                                     static_cast<off_t>(cache.read + text.size()))) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  close(file);
  // A line that is still being written is read next time.
  for (size_t end = 0; (end = text.find('\n')) != std::string::npos;) {
    cache.read += end + 1;
    if (auto entry = codeobj::ReadCacheLine(std::string_view(text).substr(0, end))) {
      auto& known = cache.by_symbol[entry->symbol];
      std::erase_if(known, [&](const CacheEntry& one) {
        return one.file == entry->file && one.round != entry->round;
      });
      known.push_back(*entry);
      cache.symbol_by_called[entry->called] = entry->symbol;
      fresh[entry->symbol].push_back(std::move(*entry));
    }
    text.erase(0, end + 1);
  }
  return fresh;
}

uint64_t Size(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

// Which of the two runs, so that each pair of launches has both, in either order by chance: a
// program that alternates between two shapes would otherwise give one shape to each side.
bool IsCandidatesTurn(uint64_t launch) {
  uint64_t mixed = (launch / 2 + 1) * 0x9e3779b97f4a7c15ull;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
  return ((launch ^ (mixed >> 63)) & 1) != 0;
}

SwapLaunch LaunchOf(const Queue& queue, const hsa_kernel_dispatch_packet_t& packet) {
  SwapLaunch launch;
  launch.grid = {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z};
  launch.workgroup = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z};
  launch.group_bytes = packet.group_segment_size;
  launch.private_bytes = packet.private_segment_size;
  launch.cooperative = queue.queue->type == HSA_QUEUE_TYPE_COOPERATIVE;
  return launch;
}

void RecordSwapLaunch(Decision decision, const Swap& swap, const std::string& reason) {
  const Noted noted{decision, swap.original, swap.candidate, swap.file, Intern(reason)};
  Write(noted);
  // Somebody may be deciding who waits for this queue's lock; once is enough then.
  if (!deciding.try_lock()) return;
  const base::Lock lock(deciding, std::adopt_lock);
  TheCache().noted.push_back(noted);
}

void RecordRefusedLaunch(const Swap& swap, const SwapLaunch& launch) {
  Guarded("no memory for a swap's reason", [&] {
    RecordSwapLaunch(Decision::kLaunchRefused, swap,
                     swap.plan.WhyNot(launch, swap.most_group_bytes));
  });
}

bool IsSample(Swap* swap) {
  if (!swap->samples.IsDue(most_samples.load(std::memory_order_relaxed)) || sampling.exchange(true))
    return false;
  swap->samples.Begin();
  return true;
}

std::string NotHeld(uint64_t launch, const std::string& problem) {
  return "launch " + std::to_string(launch) + ": " + problem;
}

// The file in the cache may be another one when the launch is compared.
bool WriteCode(const std::string& path, const std::string& bytes, std::string* problem) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool good = file >= 0 && WriteAll(file, bytes.data(), bytes.size());
  if (!good) *problem = "the candidate cannot be kept: " + std::string(strerror(errno));
  if (file >= 0) close(file);
  return good;
}

template <typename T>
void Store(T* field, T value) {
  __atomic_store_n(field, value, __ATOMIC_RELEASE);
}

// A GPU may take a packet before its doorbell: at no time does it ask for less memory than its
// kernel needs. The ring may be write-combined memory, which keeps no order by itself.
void Edit(hsa_kernel_dispatch_packet_t* packet, uint64_t object, uint32_t group_bytes,
          uint32_t private_bytes) {
  Store(&packet->group_segment_size, std::max(group_bytes, packet->group_segment_size));
  Store(&packet->private_segment_size, std::max(private_bytes, packet->private_segment_size));
  _mm_sfence();
  Store(&packet->kernel_object, object);
  _mm_sfence();
  Store(&packet->group_segment_size, group_bytes);
  Store(&packet->private_segment_size, private_bytes);
}

}  // namespace

void PrepareSwap() {
  const char* const list = getenv(contract::variables::kSwapList);
  if (list == nullptr || *list == '\0') return;
  const base::Lock lock(deciding);
  Cache& cache = TheCache();
  cache.list = list;
  cache.read = 0;
  cache.shared = getenv(contract::variables::kSwapShared) != nullptr;
  cache.alternate = getenv(contract::variables::kSwapAb) != nullptr;
  if (const char* const wanted = getenv(contract::variables::kSwapVerify); wanted != nullptr) {
    uint64_t samples = 0;
    std::from_chars(wanted, wanted + strlen(wanted), samples);
    most_samples.store(samples);
    cache.samples = cache.list.substr(0, cache.list.rfind('/') + 1) + "samples/";
  }
  ReadList();
  internal::swap_requested.store(true);
}

bool SwapMayNeed(std::string_view object) {
  const auto elf = codeobj::ElfView::Open(object);
  if (!elf.ok()) return false;
  const base::Lock lock(deciding);
  const Cache& cache = TheCache();
  if (cache.by_symbol.empty()) return false;
  for (const codeobj::ElfView::Section& section : elf.value().sections()) {
    if (section.header.sh_type != SHT_DYNSYM ||
        section.header.sh_link >= elf.value().sections().size())
      continue;
    const auto symbols = elf.value().Content(section);
    const auto names = elf.value().Content(elf.value().sections()[section.header.sh_link]);
    if (!symbols || !names) continue;
    for (size_t i = 0; i < symbols->size() / sizeof(Elf64_Sym); ++i) {
      std::string_view name =
          codeobj::TextAt(*names, codeobj::ReadAt<Elf64_Sym>(*symbols, i).st_name);
      if (!name.ends_with(".kd")) continue;
      name.remove_suffix(3);
      if (cache.by_symbol.find(name) != cache.by_symbol.end()) return true;
    }
  }
  return false;
}

void SwapLearnsKernel(uint32_t id, uint64_t kernel_object, std::string_view symbol,
                      uint16_t agent) {
  if (!SwapRequested() || !IsGpu(agent)) return;
  const base::Lock lock(deciding);
  Cache& cache = TheCache();
  Original& original = cache.originals[kernel_object];
  const bool known = original.id == id;
  const auto entries = cache.by_symbol.find(symbol);
  if (known && original.code != nullptr) {
    // Asked again. Unless other code was loaded at the same place, all is said.
    LoadedCode code;
    if (FindLoadedCode(kernel_object, &code) && code.object != nullptr &&
        code.base == original.base && *code.object == *original.code)
      return;
  } else if (known && entries == cache.by_symbol.end()) {
    return;
  }
  original = {id, std::string(symbol), agent, nullptr, 0};
  ForgetSwap(kernel_object);
  if (entries != cache.by_symbol.end())
    Decide(kernel_object, &original, entries->second);
  else
    RecordNearMiss(original);
}

bool SwapVerifies() { return most_samples.load(std::memory_order_relaxed) != 0; }

void SwapPacket(const Queue& queue, hsa_kernel_dispatch_packet_t* packet, SwapSample* sample) {
  if (!any_swapped.load(std::memory_order_relaxed)) return;
  Swap* const swap = FindSwap(packet->kernel_object);
  if (swap == nullptr) return;
  const SwapLaunch launch = LaunchOf(queue, *packet);
  if (!swap->plan.Takes(launch, swap->most_group_bytes)) {
    if (!swap->launch_refused.exchange(true)) RecordRefusedLaunch(*swap, launch);
    return;
  }
  const uint64_t turn = swap->launches.fetch_add(1, std::memory_order_relaxed);
  const bool stays = swap->alternates && !IsCandidatesTurn(turn);
  // What is captured is a launch of the original: where the two alternate, on its turn.
  if (sample != nullptr && SwapVerifies() && stays == swap->alternates &&
      swap->omniprobe_descriptor == 0 && IsSample(swap)) {
    *sample = {swap, turn + 1};
    return;
  }
  if (stays) return;
  if (swap->omniprobe_descriptor != 0) {
    void* const arguments =
        MakeOmniprobeArguments(queue, *packet, swap->plan, launch, swap->omniprobe_descriptor);
    if (arguments == nullptr) return;
    // Before the kernel, which reads more of them than the original.
    Store(&packet->kernarg_address, arguments);
    _mm_sfence();
  }
  Edit(packet, swap->object, swap->plan.GroupBytes(launch), swap->plan.PrivateBytes(launch));
}

LaunchOutcome CaptureSample(const SwapSample& sample, Queue& queue, uint64_t at,
                            hsa_signal_t doorbell, StoreFunction store, LaunchNote note) {
  LaunchOutcome outcome;
  Guarded("no memory for a launch that is to be compared", [&] {
    Swap& swap = *sample.swap;
    const std::string name = std::to_string(getpid()) + "-" + std::to_string(swap.original) + "-" +
                             std::to_string(swap.candidate) + "-" + std::to_string(sample.launch);
    const std::string path = swap.samples_folder + name;
    const CaptureOrder order{.directory = path,
                             .symbol = swap.symbol,
                             .kernarg_bytes = swap.plan.original_kernarg,
                             .match = sample.launch};
    std::string problem;
    if (WriteCode(path + ".hsaco", *swap.code, &problem))
      outcome = CaptureLaunch(order, queue, at, doorbell, store, note, &problem);
    if (problem.empty()) {
      swap.samples.Captured();
      RecordSwapLaunch(Decision::kSampled, swap, name);
    } else if (problem == kTakenEarly && swap.samples.TakenEarly(sample.launch)) {
      unlink((path + ".hsaco").c_str());
    } else {
      RecordSwapLaunch(Decision::kNotSampled, swap, NotHeld(sample.launch, problem));
    }
  });
  sampling.store(false);
  return outcome;
}

void ExplainMissingSamples() {
  if (!SwapVerifies()) return;
  if (!deciding.try_lock()) return;
  const base::Lock lock(deciding, std::adopt_lock);
  for (const std::unique_ptr<Swap>& swap : TheCache().swaps)
    if (const uint64_t launch = swap->samples.TakeOwed(); launch != 0)
      Write({Decision::kNotSampled, swap->original, swap->candidate, swap->file,
             Intern(NotHeld(launch, kTakenEarly))});
}

void LookForCandidates() {
  if (!SwapRequested() || !RuntimeAlive()) return;
  // A program's thread that decides may take a while; there is a next time.
  if (!deciding.try_lock()) return;
  const base::Lock lock(deciding, std::adopt_lock);
  Cache& cache = TheCache();
  if (Size(cache.list) <= cache.read) return;
  const auto fresh = ReadList();
  for (auto& [object, original] : cache.originals)
    if (const auto entries = fresh.find(original.symbol); entries != fresh.end())
      Decide(object, &original, entries->second);
}

void RecordSwaps() {
  if (!SwapRequested()) return;
  const base::Lock lock(deciding);
  for (const Noted& noted : TheCache().noted) Write(noted);
}

void ForgetSwaps() {
  ExplainMissingSamples();
  const base::Lock lock(deciding);
  any_swapped.store(false);
  swaps.ForEach([](uint64_t /*object*/, std::atomic<Swap*>& swap) { swap.store(nullptr); });
  TheCache().originals.clear();
  for (auto& [key, candidate] : TheCache().candidates)
    if (candidate != nullptr) candidate->loaded.clear();
}

void ForgetSwapsAfterFork() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  new (&deciding) base::Mutex;
  sampling.store(false);
  // Not cleared: another thread of the parent may have been changing it.
  new (&TheCache()) Cache;
  any_swapped.store(false);
  swaps.ForEach([](uint64_t /*object*/, std::atomic<Swap*>& swap) { swap.store(nullptr); });
}

}  // namespace rochound::agent
