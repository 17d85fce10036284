// SPDX-License-Identifier: MIT
#include "agent/capture.h"

#include <unistd.h>

#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <new>
#include <string>

#include "agent/agent_facts.h"
#include "agent/allocations.h"
#include "agent/capture_choice.h"
#include "agent/capture_memory.h"
#include "agent/capture_scope.h"
#include "agent/code_objects.h"
#include "agent/memory_reader.h"
#include "agent/runtime.h"
#include "agent/session.h"
#include "agent/state.h"
#include "agent/symbols.h"
#include "base/check.h"
#include "base/mutex.h"
#include "capture/bundle_writer.h"
#include "capture/manifest.h"

namespace rochound::agent {

constinit std::atomic<bool> internal::capture_requested{false};

namespace {

constexpr char kNoMemory[] = "no memory for a capture";

struct Kernel {
  std::string symbol;
  uint64_t kernarg_bytes;
  bool matches;
  uint64_t launches = 0;
};

struct Wish {
  std::unique_ptr<const CaptureChoice> choice;  // null: none
  std::map<uint32_t, Kernel> kernels;
  uint64_t dispatches = 0;
  uint64_t matches = 0;
  bool taken = false;  // somebody is at it
};

constinit base::Mutex choosing;

Wish& TheWish() ROCHOUND_REQUIRES(choosing) {
  static auto* const wish = new Wish;
  return *wish;
}

// For whoever started the program: what became of the wish.
void WriteOutcome(const char* state, const std::string& reason) {
  std::string text = std::string("state=") + state + "\n";
  if (!reason.empty()) text += "reason=" + reason + "\n";
  if (trace::Writer* log = Log()) log->WriteText("capture", text);
}

capture::Agent Describe(uint16_t index) {
  const AgentFacts facts = DescribeAgent(index);
  capture::Agent described;
  described.name = facts.name;
  described.isa = facts.isa;
  described.product = facts.product;
  described.device = IsGpu(index) ? "gpu" : "cpu";
  described.uuid = facts.uuid;
  described.node = facts.node;
  described.compute_units = facts.compute_units;
  described.wavefront = facts.wavefront;
  return described;
}

std::string Now() {
  const time_t now = time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

void DescribeProcess(capture::Manifest* manifest) {
  manifest->made_by = "rochound " ROCHOUND_VERSION;
  manifest->created = Now();
  manifest->command = CommandLine();
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  manifest->host = host;
  manifest->pid = static_cast<uint64_t>(getpid());
  uint16_t major = 0;
  uint16_t minor = 0;
  Real().core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_VERSION_MAJOR, &major);
  Real().core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_VERSION_MINOR, &minor);
  manifest->runtime = "HSA " + std::to_string(major) + "." + std::to_string(minor);
  for (uint16_t index = 0; index < AgentCount(); ++index)
    manifest->agents.push_back(Describe(index));
}

void DescribeLaunch(const hsa_kernel_dispatch_packet_t& packet, capture::Launch* launch) {
  static_assert(sizeof packet == sizeof launch->packet);
  std::memcpy(launch->packet.data(), &packet, sizeof packet);
  launch->setup = packet.setup;
  launch->grid = {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z};
  launch->workgroup = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z};
  launch->group_bytes = packet.group_segment_size;
  launch->private_bytes = packet.private_segment_size;
  launch->kernel_object = packet.kernel_object;
  launch->kernarg = reinterpret_cast<uint64_t>(packet.kernarg_address);
}

// One capture: made for the chosen launch, gone with it.
class Captured {
 public:
  Captured(const CaptureOrder& order, const Queue& queue,
           const hsa_kernel_dispatch_packet_t& packet)
      : order_(order), reader_(AgentHandle(queue.agent)) {
    manifest_.kernel = order.symbol;
    manifest_.memory = order.all_memory ? "all" : "reachable";
    manifest_.agent = queue.agent;
    DescribeProcess(&manifest_);
    DescribeLaunch(packet, &manifest_.launch);
    manifest_.launch.dispatch = order.dispatch;
    manifest_.launch.match = order.match;
  }

  bool Before() {
    writer_.reset();  // of an earlier try
    if (!reader_.Ready()) return Refuse("the runtime gave no memory to copy through");
    LoadedCode code;
    if (!FindLoadedCode(manifest_.launch.kernel_object, &code) || code.object == nullptr)
      return Refuse("the kernel's code object is not in memory any more");
    manifest_.code_object = {{code.base, code.size}, code.delta, code.uri};
    code_ = code.object;
    manifest_.launch.kernarg_bytes =
        static_cast<uint32_t>(KernargBytes(code, order_.symbol, order_.kernarg_bytes));
    const std::string disk = order_.directory.substr(0, order_.directory.rfind('/') + 1);
    memory_ = std::make_unique<CaptureMemory>(held_, code, manifest_.launch.kernarg,
                                              manifest_.launch.kernarg_bytes, disk, &reader_);
    writer_ = capture::BundleWriter::Create(order_.directory, &problem_);
    if (writer_ == nullptr) return false;
    if (!memory_->TakeBefore(order_.all_memory, writer_.get())) return Refuse(memory_->problem());
    return StillWhole();
  }

  // The launch is over.
  void After(uint64_t nanoseconds) noexcept {
    InMemory([&] { TakeAfter(nanoseconds); });
  }

  // The launch does not end.
  void Unfinished(const char* why) noexcept {
    if (order_.keep_unfinished) InMemory([&] { FinishWithoutAfter(why); });
  }

  void FinishWithoutAfter(const char* why) {
    manifest_.launch.unfinished = true;
    Remark(std::string(why) + ": its results are not in the bundle");
    Finish();
  }

  void TakeAfter(uint64_t nanoseconds) {
    manifest_.launch.duration_ns = nanoseconds;
    if (!memory_->TakeAfter(writer_.get())) {
      Refuse(memory_->problem());
      return;
    }
    Finish();
  }

  void Finish() {
    if (!StillWhole()) return;
    manifest_.regions = memory_->regions();
    finished_ = writer_->Finish(manifest_, memory_->kernarg(), *code_);
    if (!finished_) Refuse(writer_->error());
  }

  void Remark(std::string text) { manifest_.notes.push_back(std::move(text)); }
  const std::string& problem() const { return problem_; }
  bool finished() const { return finished_; }  // the bundle is there
  bool out_of_memory() const { return out_of_memory_; }

 private:
  // Nothing may pass through whoever calls once the GPU has the launch.
  template <typename Work>
  void InMemory(Work work) noexcept {
    try {
      work();
    } catch (const std::bad_alloc&) {
      out_of_memory_ = true;
    }
  }
  // Something of ours failed where it could only disable the agent: what was found is not all.
  bool StillWhole() {
    return was_disabled_ || CurrentState() != State::kDisabled || Refuse(DisabledReason());
  }
  bool Refuse(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  const CaptureOrder& order_;
  const HeldCode held_code_;
  const HeldAllocations held_;
  MemoryReader reader_;
  std::unique_ptr<CaptureMemory> memory_;
  std::unique_ptr<capture::BundleWriter> writer_;
  std::shared_ptr<const std::vector<std::byte>> code_;
  capture::Manifest manifest_;
  std::string problem_;
  const bool was_disabled_ = CurrentState() == State::kDisabled;
  bool finished_ = false;
  bool out_of_memory_ = false;
};

}  // namespace

void PrepareCapture() {
  const CaptureScope scope;
  std::string problem;
  const base::Lock lock(choosing);
  TheWish().choice = CaptureChoice::FromEnvironment(&problem);
  if (!problem.empty()) WriteOutcome("failed", problem);
  internal::capture_requested.store(TheWish().choice != nullptr);
}

void CaptureLearnsKernel(uint32_t id, std::string_view symbol, uint64_t kernarg_bytes) {
  if (!CaptureRequested()) return;
  const CaptureScope scope;
  const base::Lock lock(choosing);
  Wish& wish = TheWish();
  ROCHOUND_DCHECK(wish.choice != nullptr);
  const std::string name(symbol);
  wish.kernels[id] = {name, kernarg_bytes, wish.choice->NameMatches(name)};
}

bool CaptureWants(uint32_t kernel, const hsa_kernel_dispatch_packet_t& packet) {
  const base::Lock lock(choosing);
  Wish& wish = TheWish();
  if (wish.taken || wish.choice == nullptr) return false;
  ++wish.dispatches;
  const auto known = wish.kernels.find(kernel);
  if (known != wish.kernels.end()) ++known->second.launches;
  if (known == wish.kernels.end() || !known->second.matches || !wish.choice->ShapeMatches(packet))
    return false;
  ++wish.matches;
  const bool wanted = wish.choice->dispatch != 0 ? wish.dispatches == wish.choice->dispatch
                                                 : wish.matches == wish.choice->nth;
  wish.taken = wanted;
  return wanted;
}

void CaptureMisses(uint32_t kernel, const hsa_kernel_dispatch_packet_t& packet) {
  if (!CaptureWants(kernel, packet)) return;
  Guarded("no memory for a capture", [] { WriteOutcome("failed", kTakenEarly); });
  internal::capture_requested.store(false);
}

LaunchOutcome CaptureLaunch(const CaptureOrder& order, Queue& queue, uint64_t at,
                            hsa_signal_t doorbell, StoreFunction store, LaunchNote note,
                            std::string* problem) {
  const CaptureScope scope;
  LaunchOutcome outcome;
  Guarded(kNoMemory, [&] {
    bool enough_memory = false;
    try {
      HeldPacket held(queue.Packet(at));
      Captured captured(order, queue, held.Contents());
      LaunchWatch watch;
      watch.before = [&] { return captured.Before(); };
      watch.noted = note;
      watch.after = [&](uint64_t nanoseconds) { captured.After(nanoseconds); };
      watch.unfinished = [&](const char* why) { captured.Unfinished(why); };
      watch.remark = [&](std::string text) { captured.Remark(std::move(text)); };
      queue.submitting.AssertHeld();
      outcome = LaunchAlone(queue, at, held, doorbell, store, watch);
      if (!captured.finished())
        *problem = captured.problem().empty() ? outcome.problem : captured.problem();
      enough_memory = !captured.out_of_memory();
    } catch (const std::bad_alloc&) {
      enough_memory = false;  // what was held is released by now
    }
    if (!enough_memory) *problem = kNoMemory;
  });
  return outcome;
}

LaunchOutcome Capture(Queue& queue, uint64_t at, hsa_signal_t doorbell, StoreFunction store,
                      LaunchNote note) {
  const CaptureScope scope;
  LaunchOutcome outcome;
  Guarded(kNoMemory, [&] {
    std::string problem;
    try {
      const uint32_t id = KernelId(queue.Packet(at)->kernel_object, queue.agent);
      base::UniqueLock lock(choosing);
      // Kernels are still being learned, by other threads; the choice and the counts stay.
      const Wish& wish = TheWish();
      ROCHOUND_DCHECK(wish.taken && wish.choice != nullptr);
      const Kernel& kernel = wish.kernels.at(id);
      const CaptureOrder order{wish.choice->directory,
                               wish.choice->all_memory,
                               kernel.symbol,
                               kernel.kernarg_bytes,
                               wish.dispatches,
                               wish.matches,
                               true};
      lock.unlock();
      outcome = CaptureLaunch(order, queue, at, doorbell, store, note, &problem);
    } catch (const std::bad_alloc&) {
      problem = kNoMemory;
    }
    WriteOutcome(problem.empty() ? "done" : "failed", problem);
  });
  internal::capture_requested.store(false);
  return outcome;
}

std::string CaptureFailedLaunch(const Queue& queue, hsa_kernel_dispatch_packet_t packet,
                                const std::string& symbol, uint64_t kernarg_bytes,
                                const std::string& directory) {
  // The GPU may have taken the type away already.
  packet.header = static_cast<uint16_t>((packet.header & 0xff00) | HSA_PACKET_TYPE_KERNEL_DISPATCH
                                                                       << HSA_PACKET_HEADER_TYPE);
  const CaptureOrder order{
      .directory = directory, .symbol = symbol, .kernarg_bytes = kernarg_bytes};
  Captured captured(order, queue, packet);
  if (captured.Before())
    captured.FinishWithoutAfter("captured after it failed, with memory as it left it");
  return captured.problem();
}

void ExplainMissingCapture() {
  if (!CaptureRequested()) return;
  const base::Lock lock(choosing);
  const Wish& wish = TheWish();
  if (wish.taken) return;
  if (CurrentState() == State::kDisabled) return WriteOutcome("failed", DisabledReason());
  std::string reason = wish.choice->WhyNone(wish.dispatches, wish.matches);
  size_t named = 0;
  for (const auto& [id, kernel] : wish.kernels) {
    if (kernel.launches == 0) continue;
    if (++named > 8) break;
    reason += (named == 1 ? " Kernels: " : ", ") + ReadableName(kernel.symbol);
  }
  WriteOutcome("waiting", reason);
}

void ForgetCaptureAfterFork() {
  new (&choosing) base::Mutex;
  internal::capture_requested.store(false);  // it is the parent's launch that is wanted
}

}  // namespace rochound::agent
