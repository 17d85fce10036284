// SPDX-License-Identifier: MIT
#include "agent/faults.h"

#include <hsa/hsa_ven_amd_loader.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/agent_facts.h"
#include "agent/allocations.h"
#include "agent/capture.h"
#include "agent/code_objects.h"
#include "agent/copies.h"
#include "agent/fault_memory.h"
#include "agent/own_memory.h"
#include "agent/packets.h"
#include "agent/probe.h"
#include "agent/queue.h"
#include "agent/runtime.h"
#include "agent/session.h"
#include "agent/spin_lock.h"
#include "agent/state.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/json_text.h"
#include "contract/fault_record.h"
#include "contract/variables.h"

namespace rochound::agent {
namespace {

namespace fault = contract::fault_record;

using Json = rochound::base::JsonText;

constinit std::atomic<bool> written{false};
constinit std::atomic<bool> hang_written{false};
constinit std::atomic<bool> stopped_watching{false};

constexpr uint64_t kCopyPatienceNs = 2'000'000'000;  // for one copy by a GPU that has failed
constexpr uint64_t kShortPatienceNs = 300'000'000;   // and by one that is asked about

// Empty: it is not there.
std::vector<std::byte> ReadBytes(uint64_t address, size_t size) {
  std::vector<std::byte> bytes(size);
  if (!ReadOwnMemory(address, bytes.data(), size)) bytes.clear();
  return bytes;
}

std::string HexBytes(const std::vector<std::byte>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text.push_back(kDigits[static_cast<uint8_t>(byte) >> 4]);
    text.push_back(kDigits[static_cast<uint8_t>(byte) & 15]);
  }
  return text;
}

Json StackText(const AllocationStack& stack) {
  Json frames = Json::Array();
  for (const uint64_t address : stack)
    if (address != 0) frames.Add(AddressText(address));
  return frames;
}

Json Describe(uint64_t base, const Allocation& one) {
  Json json = {{fault::kBase, AddressText(base)},
               {fault::kSize, one.size},
               {fault::kKind, KindName(one.kind)},
               {fault::kThread, one.thread},
               {fault::kWhenNs, one.when_ns}};
  if (one.stack[0] != 0) json.Add(fault::kStack, StackText(one.stack));
  if (one.host_base != 0) json.Add(fault::kHostBase, AddressText(one.host_base));
  return json;
}

Json DescribeLive(uint64_t base, const Allocation& one) {
  Json json = Describe(base, one);
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  if (Real().amd.hsa_amd_pointer_info_fn(reinterpret_cast<const void*>(base), &info, nullptr,
                                         nullptr, nullptr) == HSA_STATUS_SUCCESS &&
      info.type != HSA_EXT_POINTER_TYPE_UNKNOWN) {
    const uint16_t owner = AgentIndex(info.agentOwner);
    if (owner < AgentCount()) json.Add(fault::kOwner, owner);
  }
  return json;
}

Json DescribeFreed(const Freed& one) {
  Json json = Describe(one.base, one.allocation);
  json.Add(fault::kFreedBy, one.thread);
  json.Add(fault::kFreedNs, one.when_ns);
  if (one.stack[0] != 0) json.Add(fault::kFreedStack, StackText(one.stack));
  return json;
}

// The program goes on allocating while its memory is described.
Json DescribeMemory() {
  constexpr size_t kMost = 20'000;
  std::vector<std::pair<uint64_t, Allocation>> all;
  std::vector<Freed> freed;
  {
    const HeldAllocations held;
    const auto end = held.all().size() > kMost
                         ? std::next(held.all().begin(), static_cast<ptrdiff_t>(kMost))
                         : held.all().end();
    all.assign(held.all().begin(), end);
    freed = held.freed();
  }
  Json live = Json::Array();
  for (const auto& [base, one] : all) live.Add(DescribeLive(base, one));
  Json gone = Json::Array();
  for (const Freed& one : freed) gone.Add(DescribeFreed(one));
  return {{fault::kLive, live}, {fault::kFreed, gone}};
}

// The code objects of kernels in flight, each written to a file once.
class CodeFiles {
 public:
  explicit CodeFiles(std::string prefix) : prefix_(std::move(prefix)) {}

  // Its file's name; empty: it could not be found.
  std::string NameOf(uint64_t kernel_object, uint64_t* delta) {
    LoadedCode code;
    {
      const HeldCode held;
      if (!FindLoadedCode(kernel_object, &code)) return {};
    }
    *delta = code.delta;
    if (!names_.contains(code.base)) loaded_.push_back(code);
    const auto known = names_.find(code.base);
    if (known != names_.end()) return known->second;
    if (code.object == nullptr) return {};
    const std::vector<std::byte>& bytes = *code.object;
    const std::string name = prefix_ + "-code-" + std::to_string(names_.size()) + ".elf";
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!Log()->WriteText(name.c_str(), text)) return {};
    return names_[code.base] = name;
  }

  const std::vector<LoadedCode>& loaded() const { return loaded_; }

 private:
  std::string prefix_;
  std::map<uint64_t, std::string> names_;
  std::vector<LoadedCode> loaded_;
};

// What is gathered about kernels in flight.
struct Gathered {
  explicit Gathered(const char* prefix) : files(prefix) {}
  CodeFiles files;
  std::vector<std::vector<std::byte>> arguments;
};

// A kernel by its object, asked of the runtime: names are not kept for this.
struct Symbol {
  uint64_t object = 0;
  std::string name;
  uint32_t kernarg_bytes = 0;
};

hsa_status_t VisitSymbol(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol,
                         void* data) {
  auto& wanted = *static_cast<Symbol*>(data);
  const auto ask = [&](hsa_executable_symbol_info_t what, auto value) {
    Real().core.hsa_executable_symbol_get_info_fn(symbol, what, &value);
    return value;
  };
  if (ask(HSA_EXECUTABLE_SYMBOL_INFO_TYPE, hsa_symbol_kind_t{}) != HSA_SYMBOL_KIND_KERNEL ||
      ask(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, uint64_t{}) != wanted.object)
    return HSA_STATUS_SUCCESS;
  Guarded("no memory for a kernel's name", [&] {
    wanted.name.resize(ask(HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, uint32_t{}));
    Real().core.hsa_executable_symbol_get_info_fn(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME,
                                                  wanted.name.data());
    wanted.kernarg_bytes = ask(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, uint32_t{});
  });
  return HSA_STATUS_INFO_BREAK;
}

Symbol FindKernel(uint64_t object, uint16_t agent) {
  Symbol symbol;
  symbol.object = object;
  hsa_executable_t executable{};
  const HeldCode held;
  if (FindExecutable(object, &executable))
    Real().core.hsa_executable_iterate_agent_symbols_fn(executable, AgentHandle(agent), VisitSymbol,
                                                        &symbol);
  if (symbol.name.ends_with(".kd")) symbol.name.resize(symbol.name.size() - 3);
  LoadedCode code;
  if (symbol.kernarg_bytes == 0 && FindLoadedCode(object, &code))
    symbol.kernarg_bytes = static_cast<uint32_t>(KernargBytes(code, symbol.name, 0));
  return symbol;
}

// A queue as it was while it was locked.
struct QueueCopy {
  struct Dispatch {
    uint64_t at;
    hsa_kernel_dispatch_packet_t packet;
  };
  uint32_t index = 0;
  uint16_t agent = 0;
  bool failed = false;
  uint32_t packets = 0;
  uint64_t read = 0;
  uint64_t write = 0;
  uint64_t since_ns = 0;
  std::vector<Dispatch> dispatches;  // that have not been seen to finish
  std::vector<PacketCopy> ring;
};

Json DescribeDispatch(const QueueCopy& queue, const QueueCopy::Dispatch& dispatch,
                      Gathered* gathered) {
  const auto& [at, packet] = dispatch;
  const Symbol symbol = FindKernel(packet.kernel_object, queue.agent);
  const auto kernarg = reinterpret_cast<uint64_t>(packet.kernarg_address);
  uint64_t delta = 0;
  const std::string file = gathered->files.NameOf(packet.kernel_object, &delta);
  const std::vector<std::byte> arguments = ReadBytes(kernarg, symbol.kernarg_bytes);
  gathered->arguments.push_back(arguments);
  const auto three = [](uint32_t x, uint32_t y, uint32_t z) {
    Json sizes = Json::Array();
    for (const uint32_t size : {x, y, z}) sizes.Add(size);
    return sizes;
  };
  return {{fault::kPacket, at},
          {fault::kFetched, at < queue.read},
          {fault::kKernel, symbol.name},
          {fault::kKernelObject, AddressText(packet.kernel_object)},
          {fault::kCompletionSignal, AddressText(packet.completion_signal.handle)},
          {fault::kCodeObject, file},
          {fault::kLoadDelta, AddressText(delta)},
          {fault::kGrid, three(packet.grid_size_x, packet.grid_size_y, packet.grid_size_z)},
          {fault::kWorkgroup,
           three(packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z)},
          {fault::kGroupBytes, packet.group_segment_size},
          {fault::kPrivateBytes, packet.private_segment_size},
          {fault::kKernarg, AddressText(kernarg)},
          {fault::kKernargBytes, HexBytes(arguments)}};
}

// Keeps a queue from being destroyed while it is copied. Nothing else is done meanwhile, neither a
// question to the runtime nor a file: who rings its doorbell waits. Where the first lock is held for
// long, as by a thread that captures a launch, the second does as well: who destroys a queue needs
// both. Which of them is held is known at run time only.
class WhileItLives {
 public:
  explicit WhileItLives(Queue& queue) ROCHOUND_NO_THREAD_SAFETY_ANALYSIS : lock_(LockOne(queue)) {
    lives_ = lock_ != nullptr && queue.doorbell != 0;
    may_harvest_ = lives_ && lock_ == &queue.submitting;
  }
  ~WhileItLives() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
    if (lock_ != nullptr) lock_->unlock();
  }
  WhileItLives(const WhileItLives&) = delete;
  WhileItLives& operator=(const WhileItLives&) = delete;

  // False: it is destroyed, or may be at any moment.
  explicit operator bool() const { return lives_; }
  bool may_harvest() const { return may_harvest_; }

 private:
  static SpinLock* LockOne(Queue& queue) ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
    constexpr uint64_t kPatienceNs = 50'000'000;
    for (SpinLock* lock : {&queue.submitting, &queue.harvesting})
      if (lock->lock_soon(kPatienceNs)) return lock;
    return nullptr;
  }

  SpinLock* const lock_;
  bool lives_ = false;
  bool may_harvest_ = false;
};

QueueCopy CopyQueue(Queue& queue, bool may_harvest) {
  constexpr size_t kMost = 16;
  QueueCopy copy;
  copy.index = queue.index;
  copy.agent = queue.agent;
  copy.packets = queue.packets;
  copy.read = Real().core.hsa_queue_load_read_index_scacquire_fn(queue.queue);
  copy.write = Real().core.hsa_queue_load_write_index_scacquire_fn(queue.queue);
  copy.since_ns = queue.front_since_ns.load(std::memory_order_relaxed);
  if (may_harvest) HarvestQueue(queue, Harvest::kAll);
  uint64_t first = copy.read;
  for (uint64_t at = queue.pending_head; at != queue.pending_tail; ++at) {
    const Pending& one = queue.pending[at & queue.pending_mask];
    const uint64_t packet = PacketIndex(one);
    // A packet's place in the ring is written anew a round later.
    if (one.phase.load(std::memory_order_acquire) != Pending::kWaiting ||
        packet < queue.ended_before || copy.write - packet > queue.packets)
      continue;
    if (copy.dispatches.size() == kMost) break;
    first = std::min(first, packet);
    copy.dispatches.push_back({packet, *queue.Packet(packet)});
  }
  copy.ring = CopyPackets(queue, first, copy.write);
  return copy;
}

std::vector<QueueCopy> CopyQueues(const hsa_queue_t* failed) {
  std::vector<QueueCopy> copies;
  ForEachQueue([&](Queue& queue) {
    const WhileItLives lives(queue);
    if (!lives) return;
    copies.push_back(CopyQueue(queue, lives.may_harvest()));
    copies.back().failed = queue.queue == failed;
  });
  return copies;
}

Json DescribeQueue(const QueueCopy& queue, Gathered* gathered) {
  Json dispatches = Json::Array();
  for (const QueueCopy::Dispatch& dispatch : queue.dispatches)
    dispatches.Add(DescribeDispatch(queue, dispatch, gathered));
  const uint64_t since_ns = queue.since_ns;
  const uint64_t now_ns = rochound::base::ClockNs(CLOCK_MONOTONIC);
  return {{fault::kIndex, queue.index},
          {fault::kAgent, queue.agent},
          {fault::kFailed, queue.failed},
          {fault::kRead, queue.read},
          {fault::kWrite, queue.write},
          {fault::kPackets, queue.packets},
          {fault::kFrontNs, since_ns != 0 && now_ns > since_ns ? now_ns - since_ns : 0},
          {fault::kUnderWay, dispatches},
          {fault::kInRing, DescribePackets(queue.ring)}};
}

// What the driver says the GPU is, whatever HSA_OVERRIDE_GFX_VERSION makes of it; 0: not known.
uint64_t TargetVersion(uint32_t node) {
  const auto text = rochound::base::ReadFile("/sys/class/kfd/kfd/topology/nodes/" +
                                             std::to_string(node) + "/properties");
  if (!text.ok()) return 0;
  constexpr std::string_view kName = "gfx_target_version ";
  const size_t at = text.value().find(kName);
  if (at == std::string::npos) return 0;
  return strtoull(text.value().c_str() + at + kName.size(), nullptr, 10);
}

Json DescribeAgents() {
  Json agents = Json::Array();
  for (uint16_t index = 0; index < AgentCount(); ++index) {
    const AgentFacts facts = DescribeAgent(index);
    agents.Add({{fault::kName, facts.name},
                {fault::kProduct, facts.product},
                {fault::kIsa, facts.isa},
                {fault::kNode, facts.node},
                {fault::kGfxTargetVersion, TargetVersion(facts.node)},
                {fault::kGpu, IsGpu(index)}});
  }
  return agents;
}

// What changes how the runtimes behave.
Json DescribeEnvironment() {
  Json variables = Json::Object();
  for (char** line = environ; line != nullptr && *line != nullptr; ++line) {
    const std::string_view text = *line;
    for (const char* start : {"HSA_", "HIP_", "ROCR_", "GPU_", "AMD_", "PYTORCH_"})
      if (text.starts_with(start))
        variables.Add(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
  }
  return variables;
}

// The memory that the kernels in flight lead to, into a file of its own.
Json SaveMemory(const Gathered& gathered, int agent, uint64_t patience_ns, const char* file) {
  FaultMemory memory(AgentHandle(static_cast<uint16_t>(agent)), patience_ns);
  for (const std::vector<std::byte>& one : gathered.arguments) memory.AddArguments(one);
  for (const LoadedCode& code : gathered.files.loaded()) memory.AddVariables(code);
  memory.Follow();
  Json pieces = Json::Array();
  std::string all;
  for (const auto& [address, bytes] : memory.pieces()) {
    pieces.Add({{fault::kAddress, AddressText(address)}, {fault::kSize, bytes.size()}});
    all += bytes;
  }
  Log()->WriteText(file, all);
  return pieces;
}

// `kind`: "fault", "hang" or "now", which the files' names begin with. `agent`: the GPU that
// failed, -1: to be found. `patience_ns`: for one copy of memory by the GPU; 0: it is to copy
// nothing.
void Write(Json record, const hsa_queue_t* failed, int agent, const char* kind,
           uint64_t patience_ns) {
  record.Add(fault::kPid, getpid());
  record.Add(fault::kWhenNs, rochound::base::ClockNs(CLOCK_REALTIME));
  record.Add(fault::kCommand, CommandLine());
  record.Add(fault::kEnvironment, DescribeEnvironment());
  record.Add(fault::kAgents, DescribeAgents());
  Gathered gathered(kind);
  Json queues = Json::Array();
  for (const QueueCopy& queue : CopyQueues(failed)) {
    queues.Add(DescribeQueue(queue, &gathered));
    if (queue.failed || (agent < 0 && queue.since_ns != 0)) agent = queue.agent;
  }
  record.Add(fault::kQueues, queues);
  Json copies = Json::Array();
  for (const uint64_t signal : CopySignals()) copies.Add(AddressText(signal));
  record.Add(fault::kCopySignals, copies);
  record.Add(fault::kMemory, DescribeMemory());
  const std::string prefix = kind;
  if (const auto maps = rochound::base::ReadFile("/proc/self/maps"); maps.ok())
    Log()->WriteText((prefix + "-maps").c_str(), maps.value());
  const auto write = [&] { Log()->WriteText((prefix + ".json").c_str(), record.text()); };
  // After what it names: whoever finds it finds the rest. Memory comes last, since the GPU has to
  // copy it, and may not do so any more.
  write();
  if (failed != nullptr || agent < 0) return;
  record.Add(fault::kSavedMemory,
             SaveMemory(gathered, agent, patience_ns, (prefix + "-memory").c_str()));
  write();
}

// A launch that may have failed.
struct Suspect {
  const Queue* queue;  // never freed
  uint64_t place;
  hsa_kernel_dispatch_packet_t packet;
};

// Those that the GPU may have started, on the queue that failed or else on all of that GPU.
std::vector<Suspect> FindSuspects(const hsa_queue_t* failed, int agent) {
  constexpr size_t kMost = 8;
  std::vector<Suspect> suspects;
  ForEachQueue([&](Queue& queue) {
    const WhileItLives lives(queue);
    if (!lives || (failed != nullptr && queue.queue != failed) ||
        (agent >= 0 && queue.agent != agent))
      return;
    const uint64_t read = Real().core.hsa_queue_load_read_index_scacquire_fn(queue.queue);
    bool oldest = true;
    for (uint64_t at = queue.pending_head; at != queue.pending_tail && suspects.size() < kMost;
         ++at) {
      const Pending& one = queue.pending[at & queue.pending_mask];
      const uint64_t place = PacketIndex(one);
      if (one.phase.load(std::memory_order_acquire) != Pending::kWaiting ||
          place < queue.ended_before)
        continue;
      if (!oldest && place >= read) break;
      oldest = false;
      suspects.push_back({&queue, place, *queue.Packet(place)});
    }
  });
  return suspects;
}

// The launches themselves, if that was asked for. It may take a while, and comes when everything
// else is safe. Each is named by its place, as in the record.
void CaptureSuspects(const hsa_queue_t* failed, int agent) {
  const char* const wanted = getenv(contract::variables::kFaultBundle);
  if (wanted == nullptr || *wanted == '\0') return;
  for (const auto& [queue, place, packet] : FindSuspects(failed, agent)) {
    const Symbol symbol = FindKernel(packet.kernel_object, queue->agent);
    const std::string folder =
        std::string(wanted) + "-" + std::to_string(queue->index) + "-" + std::to_string(place);
    const std::string problem =
        CaptureFailedLaunch(*queue, packet, symbol.name, symbol.kernarg_bytes, folder);
    if (!problem.empty()) Log()->WriteText("fault-bundle-problem", problem);
  }
}

// Before anything else of a fault: a capture that waits for the launch holds what describing needs.
void MarkFailed(const hsa_queue_t* failed, int agent) {
  ForEachQueue([&](Queue& queue) {
    if (queue.queue == failed || queue.agent == agent) queue.failed = true;
  });
}

// The first is what matters: what comes after is often its consequence.
void WriteFault(Json record, const hsa_queue_t* failed, int agent) {
  MarkFailed(failed, agent);
  if (Log() == nullptr || written.exchange(true)) return;
  Guarded("no memory to describe a fault", [&] {
    Write(std::move(record), failed, agent, "fault", kCopyPatienceNs);
    CaptureSuspects(failed, agent);
  });
}

Json HangRecord(uint64_t stuck_ns) {
  return {
      {fault::kVersion, 1}, {fault::kKind, "hang"}, {fault::kSeconds, stuck_ns / 1'000'000'000}};
}

// A queue has come no further for a while: that is no failure yet, and a fault may still come. On
// the drain thread, which must not wait for a GPU.
void RecordHang(uint64_t stuck_ns) {
  if (Log() == nullptr || written || hang_written.exchange(true)) return;
  Guarded("no memory to describe a hang",
          [&] { Write(HangRecord(stuck_ns), nullptr, -1, "hang", 0); });
}

void ForgetHang() {
  if (Log() != nullptr && hang_written.exchange(false)) Log()->WriteText("hang.json", "");
}

// Something is in flight: a kernel that has not ended, or packets that the GPU has not processed.
// The read index may lag behind, so a packet counts only while it is there.
bool HasWork(const Queue& queue, uint64_t read, uint64_t write)
    ROCHOUND_REQUIRES(queue.submitting) {
  constexpr uint64_t kLook = 64;
  if (queue.pending_head != queue.pending_tail) return true;
  for (uint64_t at = read; at < write && at - read < kLook; ++at)
    if (IsValidPacket(queue, at)) return true;
  return false;
}

// Looks how far each queue has come. Returns how long the slowest has made no progress.
uint64_t LookAtQueues(uint64_t now_ns) {
  uint64_t longest = 0;
  ForEachQueue([&](Queue& queue) {
    // A queue that is being written to is looked at next time. One that is destroyed has no
    // doorbell once the lock is free.
    if (!queue.submitting.try_lock()) return;
    if (queue.doorbell == 0 || stopped_watching) {
      queue.front_since_ns = 0;
    } else {
      const uint64_t read = Real().core.hsa_queue_load_read_index_scacquire_fn(queue.queue);
      const uint64_t write = Real().core.hsa_queue_load_write_index_scacquire_fn(queue.queue);
      const uint64_t head = queue.pending_head;
      const uint64_t since = queue.front_since_ns;
      if (!HasWork(queue, read, write))
        queue.front_since_ns = 0;
      else if (since == 0 || read != queue.seen_read || head != queue.seen_head)
        queue.front_since_ns = now_ns;
      else if (now_ns > since)  // another thread may have looked later
        longest = std::max(longest, now_ns - since);
      queue.seen_read = read;
      queue.seen_head = head;
    }
    queue.submitting.unlock();
  });
  return longest;
}

// The object of the first kernel that has not ended; 0: a packet of another kind is before it.
uint64_t FrontKernel(Queue& queue, bool may_harvest) {
  const uint64_t read = Real().core.hsa_queue_load_read_index_scacquire_fn(queue.queue);
  const uint64_t write = Real().core.hsa_queue_load_write_index_scacquire_fn(queue.queue);
  if (may_harvest) HarvestQueue(queue, Harvest::kAll);
  const uint64_t head = queue.pending_head;
  if (head == queue.pending_tail) return 0;
  const uint64_t packet = PacketIndex(queue.pending[head & queue.pending_mask]);
  if (write - packet > queue.packets) return 0;
  for (uint64_t at = read; at < packet; ++at)
    if (IsValidPacket(queue, at)) return 0;
  return queue.Packet(packet)->kernel_object;
}

hsa_status_t OnSystemEvent(const hsa_amd_event_t* event, void*) {
  if (event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT) {
    Guarded("no memory to describe a fault", [&] {
      const hsa_amd_gpu_memory_fault_info_t& fault = event->memory_fault;
      Json reasons = Json::Array();
      const auto add = [&](uint32_t bit, const char* text) {
        if ((fault.fault_reason_mask & bit) != 0) reasons.Add(text);
      };
      add(HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT, "page not present");
      add(HSA_AMD_MEMORY_FAULT_READ_ONLY, "read only");
      add(HSA_AMD_MEMORY_FAULT_NX, "not executable");
      add(HSA_AMD_MEMORY_FAULT_HOST_ONLY, "host only");
      add(HSA_AMD_MEMORY_FAULT_DRAMECC, "memory ECC");
      add(HSA_AMD_MEMORY_FAULT_IMPRECISE, "imprecise");
      add(HSA_AMD_MEMORY_FAULT_SRAMECC, "cache ECC");
      add(HSA_AMD_MEMORY_FAULT_HANG, "hang");
      WriteFault({{fault::kVersion, 1},
                  {fault::kKind, "memory"},
                  {fault::kAgent, AgentIndex(fault.agent)},
                  {fault::kAddress, AddressText(fault.virtual_address)},
                  {fault::kReasons, reasons}},
                 nullptr, AgentIndex(fault.agent));
      EndProbe(ProbeEnd::kFault);
    });
  }
  // Not handled: the runtime goes on as if we were not there.
  return HSA_STATUS_ERROR;
}

}  // namespace

void ListenForFaults() {
  if (Real().amd.hsa_amd_register_system_event_handler_fn != nullptr)
    Real().amd.hsa_amd_register_system_event_handler_fn(OnSystemEvent, nullptr);
}

void OnQueueError(hsa_status_t status, hsa_queue_t* queue, void* data) {
  const auto& listener = *static_cast<const QueueListener*>(data);
  Guarded("no memory to describe a fault", [&] {
    const char* text = nullptr;
    Real().core.hsa_status_string_fn(status, &text);
    WriteFault({{fault::kVersion, 1},
                {fault::kKind, "queue"},
                {fault::kStatus, static_cast<uint32_t>(status)},
                {fault::kStatusText, text != nullptr ? text : ""}},
               queue, -1);
    EndProbe(ProbeEnd::kFault);
  });
  listener.program(status, queue, listener.data);
}

void WatchProgress(uint64_t now_ns) {
  if (!RuntimeAlive() || stopped_watching) return;
  const uint64_t stuck_ns = LookAtQueues(now_ns);
  const uint64_t patience = settings().hang_ns;
  if (patience == 0 || stuck_ns < patience)
    ForgetHang();
  else
    RecordHang(stuck_ns);
}

void StopWatchingProgress() {
  stopped_watching = true;
  ForEachQueue([](Queue& queue) {
    queue.submitting.WaitUntilFree();  // who looked has finished
    queue.harvesting.WaitUntilFree();
  });
}

std::vector<InFlightWork> WorkInFlightFor(uint64_t least_ns) {
  struct Front {  // copies: the queue's object may be another queue's afterwards
    uint16_t agent;
    uint32_t index;
    uint64_t ns;
    uint64_t kernel;
  };
  std::vector<Front> fronts;
  if (!RuntimeAlive() || stopped_watching) return {};
  const uint64_t now_ns = rochound::base::ClockNs(CLOCK_MONOTONIC);
  ForEachQueue([&](Queue& queue) {
    const uint64_t since_ns = queue.front_since_ns;
    if (since_ns == 0 || now_ns < since_ns + least_ns) return;
    const WhileItLives lives(queue);
    if (lives && !stopped_watching)
      fronts.push_back(
          {queue.agent, queue.index, now_ns - since_ns, FrontKernel(queue, lives.may_harvest())});
  });
  std::vector<InFlightWork> found;
  for (const Front& front : fronts) {
    uint16_t gpu = 0;
    for (uint16_t agent = 0; agent < front.agent; ++agent) gpu += IsGpu(agent) ? 1 : 0;
    found.push_back(
        {gpu, front.index, front.ns,
         front.kernel != 0 ? FindKernel(front.kernel, front.agent).name : std::string()});
  }
  return found;
}

bool DescribeInFlight() {
  if (!RuntimeAlive() || stopped_watching || Log() == nullptr) return false;
  bool done = false;
  Guarded("no memory to describe what is in flight", [&] {
    Write(HangRecord(LookAtQueues(rochound::base::ClockNs(CLOCK_MONOTONIC))), nullptr, -1, "now",
          kShortPatienceNs);
    done = true;
  });
  return done;
}

}  // namespace rochound::agent
