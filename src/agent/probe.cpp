// SPDX-License-Identifier: MIT
#include "agent/probe.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "agent/allocations.h"
#include "agent/code_objects.h"
#include "agent/omniprobe.h"
#include "agent/own_memory.h"
#include "agent/runtime.h"
#include "agent/session.h"
#include "agent/state.h"
#include "agent/write_all.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/file_limit.h"
#include "base/mutex.h"
#include "base/pattern.h"
#include "codeobj/demangle.h"
#include "contract/variables.h"
#include "probe/layout.h"

namespace rochound::agent {

namespace internal {
constinit std::atomic<bool> probe_requested{false};
constinit std::atomic<bool> probe_watches_writes{false};
}  // namespace internal

namespace {

using Control = RochoundProbeControl;
using Ring = RochoundProbeRing;

constexpr const char* kVariable = "__rochound_probe";
constexpr std::string_view kKernelVariable = "__rochound_probe.";  // and the kernel's name
constexpr uint64_t kDefaultBytes = 16 << 20;
constexpr uint64_t kFewestWords = 1 << 10;
constexpr uint64_t kMostWords = 1 << 28;
constexpr size_t kBufferWords = 8192;
// About ten seconds of a GPU whose host does not answer.
constexpr uint32_t kPatience = 1 << 22;

// How long a process that ends waits for messages that are being written.
constexpr uint64_t kExitPatienceNs = 200'000'000;

// How long a thread that frees memory waits for them.
constexpr uint64_t kFreePatienceNs = 20'000'000;

constinit base::Mutex using_ring;

struct Listening {
  std::string directory;
  uint64_t words = 0;
  Control control{};                     // what each module's variable gets
  std::optional<base::Pattern> pattern;  // none: every kernel
  Ring* ring = nullptr;
  uint64_t read = 0;
  int file = -1;
  off_t length = 0;        // of the file
  bool failed = false;     // nothing more is written
  bool told = false;       // how much that was
  uint64_t unwritten = 0;  // messages
  uint64_t skipped = 0;    // words of messages that were never finished
  unsigned modules = 0;
  std::vector<uint64_t> buffer;
  std::set<std::pair<uint64_t, uint64_t>> dispatches;  // whose arguments were kept
  std::pair<uint64_t, uint64_t> last_dispatch;
  std::set<uint64_t> probed;  // kernel objects that tell what they do
  // What is allocated, freed and written without a probe, as in the file.
  struct Event {
    uint64_t kind = 0;
    std::array<uint64_t, 4> numbers{};
    bool operator==(const Event&) const = default;
  };
  std::vector<Event> early;  // before there was a file
  bool forgot_early = false;
  Event last_written{};  // not told twice
};

Listening& It() ROCHOUND_REQUIRES(using_ring) {
  alignas(Listening) static std::byte place[sizeof(Listening)];
  static auto* const listening = new (place) Listening;
  return *listening;
}

uint64_t Header(uint64_t kind, uint64_t words, uint32_t position = 0) {
  return uint64_t{kRochoundProbeMagic} << 48 | kind << 40 | words << 32 | position;
}

void Fail(Listening& it, const char* what) {
  if (it.failed) return;
  it.failed = true;
  const std::string why = std::generic_category().message(errno);
  WriteToStderr(std::string("rochound: the probes' messages are lost from here on: ") + what +
                ": " + why + "\n");
}

// All of it or nothing: what a failed write has left is taken away again.
bool Append(Listening& it, const std::vector<uint64_t>& words) {
  if (it.file < 0) return false;
  const size_t bytes = words.size() * sizeof(uint64_t);
  if (WriteAll(it.file, words.data(), bytes)) {
    it.length += static_cast<off_t>(bytes);
    return true;
  }
  const int reason = errno;
  if (ftruncate(it.file, it.length) != 0) {
    close(it.file);
    it.file = -1;
  }
  errno = reason;
  return false;
}

// Numbers, and a text that is cut off where a record ends.
void WriteRecord(Listening& it, uint64_t kind, std::vector<uint64_t> numbers,
                 std::string_view text) {
  constexpr size_t kLongest = 255;
  const size_t most = (kLongest - 1 - numbers.size()) * sizeof(uint64_t);
  const size_t bytes = std::min(text.size(), most);
  const size_t words = 1 + numbers.size() + (bytes + 7) / 8;
  std::vector<uint64_t> record{Header(kind, words)};
  record.insert(record.end(), numbers.begin(), numbers.end());
  record.resize(words);
  std::memcpy(record.data() + 1 + numbers.size(), text.data(), bytes);
  if (!Append(it, record)) Fail(it, "the file cannot be written");
}

bool OpenFile(Listening& it) {
  const std::string path = it.directory + "/" + std::to_string(getpid()) + ".probe";
  it.file = base::UnlessScarce(
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (it.file >= 0) {
    it.length = std::max<off_t>(lseek(it.file, 0, SEEK_END), 0);
    return true;
  }
  Fail(it, "the file cannot be made");
  return false;
}

// Called by the runtime.
hsa_status_t VisitPool(hsa_amd_memory_pool_t pool, void* data) {
  const auto ask = Real().amd.hsa_amd_memory_pool_get_info_fn;
  hsa_amd_segment_t segment{};
  uint32_t flags = 0;
  bool allowed = false;
  ask(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
  ask(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
  ask(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allowed);
  if (!allowed || (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) == 0)
    return HSA_STATUS_SUCCESS;
  *static_cast<hsa_amd_memory_pool_t*>(data) = pool;
  return HSA_STATUS_INFO_BREAK;
}

// Zeroed host memory that all GPUs may write; null: there is none.
void* AllocateShared(uint64_t bytes) {
  const uint16_t host = HostAgent();
  if (host == trace::kNoAgent || Real().amd.hsa_amd_agent_iterate_memory_pools_fn == nullptr)
    return nullptr;
  hsa_amd_memory_pool_t pool{};
  Real().amd.hsa_amd_agent_iterate_memory_pools_fn(AgentHandle(host), VisitPool, &pool);
  std::vector<hsa_agent_t> gpus;
  for (uint16_t i = 0; i < AgentCount(); ++i)
    if (IsGpu(i)) gpus.push_back(AgentHandle(i));
  void* memory = nullptr;
  if (pool.handle == 0 || gpus.empty() ||
      Real().amd.hsa_amd_memory_pool_allocate_fn(pool, bytes, 0, &memory) != HSA_STATUS_SUCCESS)
    return nullptr;
  if (Real().amd.hsa_amd_agents_allow_access_fn(static_cast<uint32_t>(gpus.size()), gpus.data(),
                                                nullptr, memory) != HSA_STATUS_SUCCESS) {
    Real().amd.hsa_amd_memory_pool_free_fn(memory);
    return nullptr;
  }
  std::memset(memory, 0, bytes);
  return memory;
}

bool MakeRing(Listening& it) {
  if (it.ring != nullptr) return true;
  const uint64_t bytes =
      sizeof(Ring) + (it.words + kRochoundProbeMargin + kRochoundProbeWaste) * sizeof(uint64_t);
  void* const memory = AllocateShared(bytes);
  if (memory == nullptr) return false;
  it.buffer.reserve(kBufferWords + 256);
  it.ring = static_cast<Ring*>(memory);
  it.read = kRochoundProbeFirst;
  it.ring->state = uint64_t{kRochoundProbeFirst} << 32 | kRochoundProbeFirst;
  it.control.words = reinterpret_cast<uint64_t>(it.ring + 1);
  it.control.mask = static_cast<uint32_t>(it.words - 1);
  it.control.room = static_cast<uint32_t>(it.words - kRochoundProbeLongest);
  it.control.limit = static_cast<uint32_t>(it.words - it.words / 4);
  WriteRecord(it, kRochoundProbeProcess,
              {kRochoundProbeVersion, static_cast<uint64_t>(getpid()),
               reinterpret_cast<uint64_t>(memory), bytes},
              CommandLine());
  return true;
}

std::string SymbolName(hsa_executable_symbol_t symbol) {
  const auto ask = Real().core.hsa_executable_symbol_get_info_fn;
  uint32_t length = 0;
  if (ask(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length) != HSA_STATUS_SUCCESS) return {};
  std::string name(length, '\0');
  if (ask(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data()) != HSA_STATUS_SUCCESS) return {};
  if (name.ends_with(".kd")) name.resize(name.size() - 3);
  return name;
}

bool IsChosen(const std::optional<base::Pattern>& pattern, const std::string& symbol) {
  return !pattern || pattern->FoundIn(symbol) || pattern->FoundIn(codeobj::Demangle(symbol));
}

void ChooseKernel(Listening& it, uint64_t object) {
  uint64_t& count = it.ring->kernel_count;
  // More than the list can hold: all are chosen, and the reader leaves out what was not asked for.
  if (count < kRochoundProbeKernels) it.ring->kernels[count] = object;
  __atomic_store_n(&count, std::min<uint64_t>(count + 1, kRochoundProbeKernels + 1),
                   __ATOMIC_RELEASE);
}

void Fill(uint64_t address, const Control& control) {
  auto* const variable = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  Real().core.hsa_memory_copy_fn(variable, &control, sizeof control);
}

void RememberProbed(Listening& it, hsa_executable_t executable, hsa_agent_t agent,
                    const std::string& kernel) {
  hsa_executable_symbol_t symbol{};
  uint64_t object = 0;
  if (Real().core.hsa_executable_get_symbol_by_name_fn(executable, (kernel + ".kd").c_str(), &agent,
                                                       &symbol) == HSA_STATUS_SUCCESS &&
      Real().core.hsa_executable_symbol_get_info_fn(
          symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object) == HSA_STATUS_SUCCESS)
    it.probed.insert(object);
}

// A kernel's own variable is left empty where the kernel was not chosen; functions that are called
// look for the kernel in the list. Called by the runtime, which an exception of ours must not pass
// through.
hsa_status_t VisitSymbol(hsa_executable_t executable, hsa_agent_t agent,
                         hsa_executable_symbol_t symbol, void*) {
  Guarded("no memory for a probed kernel", [&] {
    using_ring.AssertHeld();
    Listening& it = It();
    hsa_symbol_kind_t kind{};
    uint64_t value = 0;
    const auto ask = Real().core.hsa_executable_symbol_get_info_fn;
    if (ask(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind) != HSA_STATUS_SUCCESS) return;
    const std::string name = SymbolName(symbol);
    if (kind == HSA_SYMBOL_KIND_KERNEL && it.pattern) {
      if (IsChosen(it.pattern, name) &&
          ask(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &value) == HSA_STATUS_SUCCESS)
        ChooseKernel(it, value);
    } else if (kind == HSA_SYMBOL_KIND_VARIABLE && name.starts_with(kKernelVariable) &&
               IsChosen(it.pattern, name.substr(kKernelVariable.size())) &&
               ask(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &value) ==
                   HSA_STATUS_SUCCESS) {
      Control control = it.control;
      control.flags &= ~uint32_t{kRochoundProbeChosenKernels};
      Fill(value, control);
      RememberProbed(it, executable, agent, name.substr(kKernelVariable.size()));
    }
  });
  return HSA_STATUS_SUCCESS;
}

void WriteEvent(Listening& it, const Listening::Event& event) {
  WriteRecord(it, event.kind, {event.numbers.begin(), event.numbers.end()}, "");
}

// Before there is a file, as long as there is room.
void Tell(Listening& it, const Listening::Event& event) {
  constexpr size_t kMost = 1 << 16;
  if (it.failed) return;
  if (it.ring != nullptr && it.modules != 0) return WriteEvent(it, event);
  if (it.early.size() < kMost) return it.early.push_back(event);
  it.forgot_early = true;
}

// What happened before anybody listened, and what was loaded since.
void WriteMemory(Listening& it) {
  for (const auto& [base, size] : LoadedImages())
    WriteRecord(it, kRochoundProbeMemory, {base, size, kRochoundProbeImage}, "");
  if (it.modules != 1) return;
  if (ProbeWatchesWrites())
    WriteRecord(it, kRochoundProbeWritten, {0, 0, kRochoundProbeWritesTold}, "");
  const auto early = std::exchange(it.early, {});
  if (!it.forgot_early) {
    for (const Listening::Event& event : early) WriteEvent(it, event);
    return;
  }
  const HeldAllocations held;
  for (const auto& [base, allocation] : held.all())
    WriteRecord(it, kRochoundProbeMemory,
                {base, allocation.size,
                 allocation.kind == MemoryKind::kVmem ? uint64_t{kRochoundProbeMapped}
                                                      : uint64_t{kRochoundProbeAllocated},
                 allocation.kind == MemoryKind::kPool && allocation.agent != trace::kNoAgent &&
                         IsGpu(allocation.agent)
                     ? uint64_t{1}
                     : uint64_t{0}},
                "");
  if (ProbeWatchesWrites())
    WriteRecord(it, kRochoundProbeWritten, {0, 0, kRochoundProbeWrittenAll}, "");
}

void TellWritten(Listening& it, uint64_t address, uint64_t bytes, uint64_t kind,
                 uint64_t source = 0) {
  const Listening::Event written = {kRochoundProbeWritten, {address, bytes, kind, source}};
  if (written == it.last_written) return;
  it.last_written = written;
  Tell(it, written);
}

void KeepModule(Listening& it, uint16_t agent, uint64_t variable) {
  LoadedCode code;
  if (!FindLoadedCode(variable, &code) || code.object == nullptr) {
    WriteToStderr(
        "rochound: an instrumented code object is not in memory any more; its messages "
        "will have no names\n");
    return;
  }
  const std::string name = std::to_string(getpid()) + "-" + std::to_string(++it.modules) + ".hsaco";
  const int file =
      base::UnlessScarce(open((it.directory + "/" + name).c_str(),
                              O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file < 0 || !WriteAll(file, code.object->data(), code.object->size()))
    Fail(it, "a code object cannot be kept");
  if (file >= 0) close(file);
  WriteRecord(it, kRochoundProbeModule, {code.delta, code.base, code.size, agent}, name);
  WriteMemory(it);
}

void Connect(Listening& it, hsa_executable_t executable, uint16_t agent) {
  const CoreApiTable& core = Real().core;
  const hsa_agent_t gpu = AgentHandle(agent);
  hsa_executable_symbol_t symbol{};
  uint64_t address = 0;
  if (core.hsa_executable_get_symbol_by_name_fn(executable, kVariable, &gpu, &symbol) !=
          HSA_STATUS_SUCCESS ||
      core.hsa_executable_symbol_get_info_fn(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS,
                                             &address) != HSA_STATUS_SUCCESS)
    return;
  auto* const variable = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  Control found{};
  if (core.hsa_memory_copy_fn(&found, variable, sizeof found) != HSA_STATUS_SUCCESS ||
      found.version != kRochoundProbeRingVersion) {
    WriteToStderr(
        "rochound: kernels that another version of rochound has instrumented are not "
        "listened to; build them again with this one\n");
    return;
  }
  if (it.failed || (it.file < 0 && !OpenFile(it)) || !MakeRing(it)) return;
  KeepModule(it, agent, address);
  core.hsa_executable_iterate_agent_symbols_fn(executable, gpu, VisitSymbol, nullptr);
  Fill(address, it.control);
}

hsa_status_t Freeze(hsa_executable_t executable, const char* options) {
  const hsa_status_t status = Real().core.hsa_executable_freeze_fn(executable, options);
  if (status == HSA_STATUS_SUCCESS && !IsBusy()) ConnectProbe(executable);
  return status;
}

void EmptyBuffer(Listening& it, uint64_t messages) {
  if (!it.failed && !it.buffer.empty() && !Append(it, it.buffer))
    Fail(it, "the file cannot be written");
  if (it.failed) it.unwritten += messages;
  it.buffer.clear();
  // In one addition with what waves do to the upper half, which must not see a carry.
  const auto before = static_cast<uint32_t>(__atomic_load_n(&it.ring->state, __ATOMIC_RELAXED));
  const auto now = static_cast<uint32_t>(it.read);
  __atomic_fetch_add(&it.ring->state, uint64_t{now} - before, __ATOMIC_RELEASE);
}

// The position that a wave takes next. Waves count in 32 bits.
uint64_t Next(const Listening& it) {
  const uint64_t state = __atomic_load_n(&it.ring->state, __ATOMIC_ACQUIRE);
  return it.read + (static_cast<uint32_t>(state >> 32) - static_cast<uint32_t>(it.read));
}

// The arguments of a dispatch that sends its first message. Its kernel runs, or ran a moment ago:
// they are still there. Where the host cannot read them, there are none.
void KeepArguments(Listening& it, const uint64_t* wave) {
  const std::pair<uint64_t, uint64_t> dispatch{wave[4], wave[5]};
  if (it.last_dispatch == dispatch) return;
  it.last_dispatch = dispatch;
  if (!it.dispatches.insert(dispatch).second) return;
  // Longer ago than any kernel runs that is still to send its first message.
  constexpr size_t kMost = 1 << 16;
  if (it.dispatches.size() > kMost) it.dispatches.clear();
  constexpr size_t kMostBytes = 1024;
  const uint64_t address = wave[14];
  std::string bytes(kMostBytes, '\0');
  // Half a page at a time, since the next one may not be there.
  size_t have = 0;
  while (have < kMostBytes) {
    const size_t part = std::min<size_t>(kMostBytes - have, 512 - (address + have) % 512);
    const iovec to{bytes.data() + have, part};
    const iovec from{reinterpret_cast<void*>(address + have),  // NOLINT(performance-no-int-to-ptr)
                     part};
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != static_cast<ssize_t>(part)) break;
    have += part;
  }
  if (have == 0) return;
  bytes.resize(have);
  WriteRecord(it, kRochoundProbeArguments, {dispatch.first, dispatch.second, address}, bytes);
}

// Up to the first message that is still being written; finally: up to the end, whatever is missing.
void Drain(Listening& it, bool finally) {
  const auto* const words = reinterpret_cast<const uint64_t*>(it.ring + 1);
  const uint64_t mask = it.words - 1;
  ROCHOUND_DCHECK(it.words != 0 && (it.words & mask) == 0);
  // Waves that wait have taken positions beyond the ring.
  const uint64_t end = std::min(Next(it), it.read + it.words);
  uint64_t messages = 0;
  while (it.read < end) {
    const uint64_t header = __atomic_load_n(words + (it.read & mask), __ATOMIC_ACQUIRE);
    const uint64_t length = header >> 32 & 0xff;
    const bool whole = header >> 48 == kRochoundProbeMagic &&
                       static_cast<uint32_t>(header) == static_cast<uint32_t>(it.read) &&
                       length != 0 && it.read + length <= end;
    if (!whole && !finally) break;
    if (!whole) {
      ++it.read;
      ++it.skipped;
      continue;
    }
    const uint64_t* const message = words + (it.read & mask);
    if ((header >> 40 & 0xff) == kRochoundProbeWave && length == kRochoundProbeWaveWords)
      KeepArguments(it, message);
    it.buffer.insert(it.buffer.end(), message, message + length);
    it.read += length;
    ROCHOUND_DCHECK(it.read <= end);
    ++messages;
    if (it.buffer.size() >= kBufferWords) {
      EmptyBuffer(it, messages);
      messages = 0;
    }
  }
  EmptyBuffer(it, messages);
  ROCHOUND_DCHECK(it.buffer.empty());
}

bool AllRead(const Listening& it) { return Next(it) == it.read; }

void RecordLosses(Listening& it, uint64_t why) {
  const uint64_t dropped = __atomic_load_n(&it.ring->dropped, __ATOMIC_ACQUIRE);
  WriteRecord(it, kRochoundProbeEnd, {why, dropped, it.unwritten, it.skipped}, "");
}

bool ReadRange(std::string_view text, uint32_t* first, uint32_t* end) {
  if (text.empty()) return true;
  const size_t colon = text.find(':');
  const std::string from(text.substr(0, colon));
  char* rest = nullptr;
  const unsigned long number = strtoul(from.c_str(), &rest, 10);
  if (from.empty() || *rest != '\0') return false;
  *first = static_cast<uint32_t>(number);
  *end = *first + 1;
  if (colon == std::string_view::npos) return true;
  const std::string to(text.substr(colon + 1));
  *end = static_cast<uint32_t>(strtoul(to.c_str(), &rest, 10));
  return !to.empty() && *rest == '\0';
}

const char* Text(const char* name) {
  const char* const value = getenv(name);
  return value != nullptr ? value : "";
}

// The launcher has checked all of it; what is not understood means no filter.
void ReadWishes(Listening& it) {
  const uint64_t bytes = strtoull(Text(contract::variables::kProbeBytes), nullptr, 10);
  // Offsets in it have 32 bits.
  it.words = std::bit_floor(
      std::clamp<uint64_t>((bytes != 0 ? bytes : kDefaultBytes) / 8, kFewestWords, kMostWords));
  it.control.version = kRochoundProbeRingVersion;
  it.control.flags = kRochoundProbeListening;
  if (std::string_view(Text(contract::variables::kProbeMode)) != "drop")
    it.control.flags |= kRochoundProbeThrottle;
  const uint64_t lanes = strtoull(Text(contract::variables::kProbeLanes), nullptr, 16);
  it.control.lanes = lanes != 0 ? lanes : ~0ull;
  if (it.control.lanes != ~0ull) it.control.flags |= kRochoundProbeLanes;
  const char* const groups[3] = {contract::variables::kProbeGroupsX,
                                 contract::variables::kProbeGroupsY,
                                 contract::variables::kProbeGroupsZ};
  for (int i = 0; i < 3; ++i) {
    uint32_t first = 0;
    uint32_t end = ~0u;
    if (*Text(groups[i]) != '\0' && ReadRange(Text(groups[i]), &first, &end))
      it.control.flags |= kRochoundProbeGroups;
    else
      first = 0, end = ~0u;
    it.control.group_first[i] = first;
    it.control.group_count[i] = end > first ? end - first : 0;
  }
  const uint64_t sample = strtoull(Text(contract::variables::kProbeSample), nullptr, 10);
  it.control.sample = sample != 0 ? static_cast<uint32_t>(sample) : ~0u;
  if (it.control.sample != ~0u) it.control.flags |= kRochoundProbeSample;
  it.control.patience = kPatience;
  const std::string_view kernel = Text(contract::variables::kProbeKernel);
  if (kernel.empty()) return;
  auto pattern = base::Pattern::Compile(kernel);
  if (!pattern.ok()) return;
  it.pattern = std::move(pattern).value();
  it.control.flags |= kRochoundProbeChosenKernels;
}

}  // namespace

void PrepareProbe() {
  const char* const directory = Text(contract::variables::kProbeDir);
  if (*directory == '\0') return;
  const base::Lock lock(using_ring);
  It().directory = directory;
  ReadWishes(It());
  internal::probe_requested.store(true);
  // Waves that are left out write without a word.
  constexpr uint32_t kLeaveOut = kRochoundProbeGroups | kRochoundProbeSample | kRochoundProbeLanes;
  internal::probe_watches_writes.store(*Text(contract::variables::kProbeWrites) != '\0' &&
                                       (It().control.flags & kLeaveOut) == 0);
}

void HookProbe(CoreApiTable* core) {
  if (ProbeRequested()) core->hsa_executable_freeze_fn = Freeze;
}

void ConnectProbe(hsa_executable_t executable) {
  if (CurrentState() == State::kDisabled) return;
  Guarded("no memory for a probed module", [&] {
    const base::Lock lock(using_ring);
    for (uint16_t agent = 0; agent < AgentCount(); ++agent)
      if (IsGpu(agent)) Connect(It(), executable, agent);
  });
}

void ProbeRecord(uint64_t kind, const std::vector<uint64_t>& numbers, std::string_view text) {
  const base::Lock lock(using_ring);
  Listening& it = It();
  if (!it.failed && (it.file >= 0 || OpenFile(it)) && MakeRing(it)) {
    WriteRecord(it, kind, numbers, text);
    if (it.modules == 0) {
      it.modules = 1;
      WriteMemory(it);
    }
  }
  if (it.failed) ++it.unwritten;
}

void* ProbeMemory(uint64_t bytes) {
  return CurrentState() != State::kDisabled ? AllocateShared(bytes) : nullptr;
}

bool DrainProbe() {
  if (!ProbeRequested()) return false;
  const bool theirs = DrainOmniprobe(false);
  if (!using_ring.try_lock()) return theirs;
  const base::Lock lock(using_ring, std::adopt_lock);
  Listening& it = It();
  if (it.ring == nullptr) return theirs;
  const uint64_t before = it.read;
  Drain(it, false);
  return theirs || it.read != before || Next(it) != it.read;
}

void ProbeMemoryAppears(uint64_t base, uint64_t size, bool mapped, bool on_gpu) {
  if (!ProbeRequested()) return;
  Guarded("no memory for a probe's record", [&] {
    const base::Lock lock(using_ring);
    Listening& it = It();
    it.last_written = {};
    Tell(it,
         {kRochoundProbeMemory,
          {base, size, mapped ? uint64_t{kRochoundProbeMapped} : uint64_t{kRochoundProbeAllocated},
           on_gpu ? uint64_t{1} : uint64_t{0}}});
  });
}

void ProbeMemoryGoes(uint64_t base) {
  if (!ProbeRequested()) return;
  Guarded("no memory for a probe's record", [&] {
    const base::Lock lock(using_ring);
    Listening& it = It();
    if (it.ring == nullptr) return Tell(it, {kRochoundProbeMemory, {base, 0, kRochoundProbeFreed}});
    if (it.failed) return;
    // What kernels did before is before. Their messages are all there, but those of kernels
    // that run now may be in the way for a moment.
    const uint64_t start = base::ClockNs(CLOCK_MONOTONIC);
    for (Drain(it, false); !AllRead(it) && base::ClockNs(CLOCK_MONOTONIC) - start < kFreePatienceNs;
         Drain(it, false))
      usleep(50);
    Tell(it, {kRochoundProbeMemory, {base, 0, kRochoundProbeFreed}});
  });
}

void ProbeMemoryWritten(uint64_t base, uint64_t bytes) {
  Guarded("no memory for a probe's record", [&] {
    const base::Lock lock(using_ring);
    TellWritten(It(), base, bytes,
                bytes == 0 ? kRochoundProbeWrittenAllocation : kRochoundProbeWrittenBytes);
  });
}

void ProbeMemoryCopied(uint64_t to, uint64_t from, uint64_t bytes) {
  Guarded("no memory for a probe's record", [&] {
    const base::Lock lock(using_ring);
    TellWritten(It(), to, bytes, kRochoundProbeWrittenCopy, from);
  });
}

void ProbeSeesDispatch(const hsa_kernel_dispatch_packet_t& packet, CopyKernel copies) {
  Guarded("no memory for a probe's record", [&] {
    const base::Lock lock(using_ring);
    Listening& it = It();
    if (it.probed.contains(packet.kernel_object)) return;
    BlitCopy copy;
    if (copies == CopyKernel::kLinear && CopiesTo(packet, &copy))
      return TellWritten(it, copy.destination, copy.bytes, kRochoundProbeWrittenCopy, copy.source);
    // Longer than the arguments of the runtime's kernels; what follows them marks too much.
    std::array<uint64_t, 16> words{};
    if (copies == CopyKernel::kNone ||
        !ReadOwnMemory(reinterpret_cast<uint64_t>(packet.kernarg_address), words.data(),
                       sizeof words))
      return TellWritten(it, 0, 0, kRochoundProbeWrittenAll);
    uint64_t to = 0, bytes = 0;
    if (copies == CopyKernel::kOtherOfRuntime && FillsBytes(words, &to, &bytes))
      return TellWritten(it, to, bytes, kRochoundProbeWrittenBytes);
    constexpr uint64_t kLowest = 1 << 16, kHighest = 1ull << 48;
    for (const uint64_t word : words)
      if (word >= kLowest && word < kHighest)
        TellWritten(it, word, 0, kRochoundProbeWrittenAllocation);
  });
}

void EndProbe(ProbeEnd why) {
  if (!ProbeRequested()) return;
  DrainOmniprobe(true);
  if (why == ProbeEnd::kShutDown) ForgetOmniprobe();
  // The drain thread may be writing; a thread that does not come back from that keeps nobody here.
  uint64_t waited = 0;
  while (!using_ring.try_lock()) {
    if (waited >= kExitPatienceNs) return;
    usleep(200);
    waited += 200'000;
  }
  const base::Lock lock(using_ring, std::adopt_lock);
  Listening& it = It();
  if (it.ring == nullptr) return;
  if (why == ProbeEnd::kExit) {
    const uint64_t start = base::ClockNs(CLOCK_MONOTONIC);
    for (Drain(it, false);
         Next(it) != it.read && base::ClockNs(CLOCK_MONOTONIC) - start < kExitPatienceNs;
         Drain(it, false))
      usleep(200);
  } else {
    __atomic_store_n(&it.ring->closed, 1, __ATOMIC_RELEASE);
    Drain(it, true);
  }
  RecordLosses(it, static_cast<uint64_t>(why));
  if (it.unwritten != 0 && !it.told) {
    it.told = true;
    WriteToStderr("rochound: " + std::to_string(it.unwritten) +
                  " messages of the probes could not be written\n");
  }
  if (why == ProbeEnd::kShutDown) {
    // The runtime takes the memory back.
    it.ring = nullptr;
    if (it.file >= 0) close(it.file);
    it.file = -1;
  }
}

void ForgetProbeAfterFork() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  new (&using_ring) base::Mutex;
  ForgetOmniprobeAfterFork();
  if (!ProbeRequested()) return;
  if (It().file >= 0) close(It().file);
  // Not cleared: another thread of the parent may have been changing it.
  new (&It()) Listening;
  internal::probe_requested.store(false);
  internal::probe_watches_writes.store(false);
}

}  // namespace rochound::agent
