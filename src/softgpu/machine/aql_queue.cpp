// SPDX-License-Identifier: MIT
#include "softgpu/machine/aql_queue.h"

#include <hsa/amd_hsa_queue.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "softgpu/counters/dispatch_counters.h"
#include "softgpu/machine/dispatch.h"
#include "softgpu/machine/signal.h"

namespace rochound::softgpu {
namespace {

using base::InjectedFaults;

constexpr uint64_t kPacketBytes = 64;
constexpr uint64_t kLongestUnmappedNs = 200'000;
constexpr uint64_t kLongestLurkNs = 10'000'000;
constexpr uint64_t kLatestCompletionNs = 300'000;

// AMD's vendor packets (hsa_amd_vendor_packet_header_t, then a format of its own).
enum VendorFormat : uint8_t { kPm4IndirectBuffer = 1, kBarrierValue = 2 };

struct BarrierValuePacket {
  uint16_t header;
  uint8_t format;
  uint8_t reserved0;
  uint32_t reserved1;
  uint64_t signal;
  int64_t value;
  int64_t mask;
  uint32_t condition;
  uint32_t reserved2;
  uint64_t reserved3;
  uint64_t reserved4;
  uint64_t completion_signal;
};
static_assert(sizeof(BarrierValuePacket) == kPacketBytes);

struct VendorPacket {
  uint16_t header;
  uint8_t format;
  uint8_t body[53];
  uint64_t completion_signal;
};
static_assert(sizeof(VendorPacket) == kPacketBytes);

bool ConditionHolds(uint32_t condition, int64_t a, int64_t b) {
  switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ:
      return a == b;
    case HSA_SIGNAL_CONDITION_NE:
      return a != b;
    case HSA_SIGNAL_CONDITION_LT:
      return a < b;
    default:
      return a >= b;
  }
}

QueueError ErrorOf(StopReason reason) {
  switch (reason) {
    case StopReason::kApertureViolation:
      return QueueError::kApertureViolation;
    case StopReason::kMemoryViolation:
      return QueueError::kMemoryViolation;
    case StopReason::kTrap:
      return QueueError::kTrap;
    default:
      return QueueError::kIllegalInstruction;
  }
}

// For a few microseconds, so closely that nothing happens between two looks.
template <typename Condition>
bool LookOften(Condition condition) {
  constexpr int kLooks = 500;
  for (int look = 0; look < kLooks; ++look) {
    if (condition()) return true;
    __builtin_ia32_pause();
  }
  return false;
}

// What the queue says through its inactive signal.
enum InactiveCode : int64_t {
  kNeedsScratchWave64 = 0x1,
  kNeedsScratchWave32 = 0x400,
  kReclaimOneTimeScratch = 0x200,
};

}  // namespace

union AqlQueue::Packet {
  uint32_t first_word;
  hsa_kernel_dispatch_packet_t kernel;
  hsa_barrier_and_packet_t barrier;
  VendorPacket vendor;
  BarrierValuePacket barrier_value;
};

std::shared_ptr<CodeCache> DeviceCode::Get(unsigned wave_size, AddressSpace::Reader& memory) {
  const base::Lock lock(mutex_);
  Entry& entry = wave_size == 32 ? wave32_ : wave64_;
  // Other code may lie at the same addresses, without any flush: the runtime's own kernels do after
  // it was shut down and started again.
  if (memory.code_changes() > entry.code_changes) {
    entry.code_changes = memory.code_changes();
    entry.doubtful = true;
  }
  if (entry.cache != nullptr && entry.doubtful && !entry.cache->Matches(memory))
    entry.cache = nullptr;  // dispatches in flight keep theirs
  entry.doubtful = false;
  if (entry.cache == nullptr) entry.cache = CodeCache::Create(architecture_, wave_size);
  return entry.cache;
}

void DeviceCode::Invalidate() {
  const base::Lock lock(mutex_);
  wave32_.doubtful = true;
  wave64_.doubtful = true;
}

AqlQueue::AqlQueue(const QueueConfig& config, const DeviceConfig& device,
                   const Architecture& architecture, AddressSpace& space,
                   DriverCallbacks* callbacks, DeviceCode* code, GlobalWaveSync* global_wave_sync,
                   std::atomic<uint64_t>* instructions)
    : Queue(config, device, space, callbacks),
      architecture_(architecture),
      code_(code),
      global_wave_sync_(global_wave_sync),
      instructions_(instructions),
      queue_address_(config.read_index_address - offsetof(amd_queue_t, read_dispatch_id)) {
  if (device.faults.late_completions != 0)
    late_ = std::make_unique<LateCompletions>(space, device.gpu_id, callbacks);
  if (device.faults.early_read_index == 0) return;
  void* page =
      mmap(nullptr, kGpuPageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  packet_copy_ = static_cast<hsa_kernel_dispatch_packet_t*>(page);
  space.Map(reinterpret_cast<uint64_t>(page), kGpuPageSize, static_cast<uint8_t*>(page), kRead);
}

AqlQueue::~AqlQueue() {
  if (packet_copy_ == nullptr) return;
  space_.Unmap(reinterpret_cast<uint64_t>(packet_copy_), kGpuPageSize);
  munmap(packet_copy_, kGpuPageSize);
}

bool AqlQueue::HasWork() {
  // The doorbell holds the index of the last packet submitted; several threads may ring it out of
  // order, so the highest value counts. All ones: never rung.
  uint64_t rung = __atomic_load_n(config_.doorbell, __ATOMIC_ACQUIRE) + 1;
  const bool more = static_cast<int64_t>(rung - last_submitted_plus_1_) > 0;
  if (more) last_submitted_plus_1_ = rung;
  if (device_.faults.early_packets != 0) {
    if (IsUnmapped(more)) return false;
    if (mapped_write_index_ > read_index_ && NextIsValid()) return true;
  }
  if (static_cast<int64_t>(last_submitted_plus_1_ - read_index_) > 0) return true;
  return device_.faults.no_rescue == 0 && TakeStranded();
}

// A queue that the driver had taken off the GPU is not told of doorbells, so when it is mapped
// again its packets are taken up to the write index in memory. Only a doorbell begins it: a packet
// that is never rung for stays where it is.
bool AqlQueue::IsUnmapped(bool rung) {
  constexpr auto kChance = &InjectedFaults::early_packets;
  const uint64_t last = last_submitted_plus_1_ - 1;
  if (rung && unmapped_until_ns_ == 0 && device_.faults.Happens(kChance, config_.id, last))
    unmapped_until_ns_ = base::MonotonicRawNs() +
                         device_.faults.Delay(kChance, config_.id, last, kLongestUnmappedNs);
  if (unmapped_until_ns_ == 0) return false;
  const uint64_t now = base::MonotonicRawNs();
  if (now < unmapped_until_ns_) return true;
  // The worst moment to be mapped is when somebody has reserved a packet and is about to write it;
  // waits for one, but not for long.
  const bool idle = static_cast<int64_t>(last_submitted_plus_1_ - read_index_) <= 0;
  const auto reserved = [&] { return WriteIndex() > read_index_; };
  if (idle && now < unmapped_until_ns_ + kLongestLurkNs && !LookOften(reserved)) return true;
  mapped_write_index_ = WriteIndex();
  if (!idle) return false;
  unmapped_until_ns_ = 0;
  if (reserved()) LookOften([&] { return NextIsValid(); });
  return false;
}

uint64_t AqlQueue::WriteIndex() {
  const auto* index =
      reinterpret_cast<uint64_t*>(memory_.Translate(config_.write_index_address, 8, kRead));
  return index == nullptr ? 0 : __atomic_load_n(index, __ATOMIC_ACQUIRE);
}

bool AqlQueue::NextIsValid() {
  const uint64_t slots = config_.ring_bytes / kPacketBytes;
  ROCHOUND_DCHECK(slots != 0);
  const uint64_t address = config_.ring_address + read_index_ % slots * kPacketBytes;
  const auto* header = reinterpret_cast<uint16_t*>(memory_.Translate(address, 2, kRead));
  return header != nullptr &&
         (__atomic_load_n(header, __ATOMIC_ACQUIRE) & 0xFF) != HSA_PACKET_TYPE_INVALID;
}

void AqlQueue::ReportInjected(std::string_view fault, uint64_t packet, uint64_t kernel_object) {
  const std::string kernel = kernel_object == 0 ? "" : KernelName(memory_, kernel_object);
  memory_.Leave();
  callbacks_->OnInjectedFault(device_.gpu_id, config_.id, fault, packet, kernel);
  memory_.Enter();
}

template <typename T>
T* AqlQueue::QueueField(size_t offset) {
  return reinterpret_cast<T*>(
      memory_.Translate(queue_address_ + offset, sizeof(T), kRead | kWrite));
}

template <typename Condition>
bool AqlQueue::WaitUntil(Condition condition) {
  Activity::Waiter waiter;
  while (!condition()) {
    if (!PauseOnce(waiter)) return false;
  }
  return true;
}

void AqlQueue::FaultAt(uint64_t address, uint8_t access, std::string_view doing) {
  const Region* region = memory_.Find(address);
  HaltWithFault({address, access, region != nullptr},
                std::string("memory fault while ") + std::string(doing) + " on " + device_.name);
}

std::optional<PacketTimes> AqlQueue::TimesSince(uint64_t start) {
  const auto* const queue = QueueField<amd_queue_t>(0);
  if (queue == nullptr || !(__atomic_load_n(&queue->queue_properties, __ATOMIC_RELAXED) &
                            AMD_QUEUE_PROPERTIES_ENABLE_PROFILING))
    return {};
  return PacketTimes{start, GpuClockNow()};
}

void AqlQueue::Complete(uint64_t signal, uint64_t start) {
  constexpr auto kLate = &InjectedFaults::late_completions;
  if (late_ != nullptr && signal != 0 && Happens(kLate)) {
    const uint64_t delay =
        device_.faults.Delay(kLate, config_.id, read_index_, kLatestCompletionNs);
    return late_->Add(signal, TimesSince(start), delay);
  }
  uint64_t bad = 0;
  if (!CompleteSignal(memory_, signal, TimesSince(start), device_.gpu_id, callbacks_, &bad))
    FaultAt(bad, kWrite, "completing a signal");
}

void AqlQueue::Process() {
  uint64_t slots = config_.ring_bytes / kPacketBytes;
  ROCHOUND_DCHECK(slots != 0);
  uint64_t address = config_.ring_address + read_index_ % slots * kPacketBytes;
  auto* slot = reinterpret_cast<Packet*>(memory_.Translate(address, kPacketBytes, kRead | kWrite));
  if (slot == nullptr) return FaultAt(address, kRead, "reading a packet");
  // A packet may become valid after the doorbell was rung.
  uint32_t first_word = 0;
  auto type = [&] {
    first_word = __atomic_load_n(&slot->first_word, __ATOMIC_ACQUIRE);
    return first_word & 0xFF;
  };
  if (type() == HSA_PACKET_TYPE_INVALID &&
      !WaitUntil([&] { return type() != HSA_PACKET_TYPE_INVALID; }))
    return;
  Packet packet;
  std::memcpy(&packet, slot, sizeof(packet));
  packet.first_word = first_word;
  if (mapped_write_index_ > read_index_ &&
      static_cast<int64_t>(__atomic_load_n(config_.doorbell, __ATOMIC_ACQUIRE) - read_index_) < 0) {
    const bool kernel = (first_word & 0xFF) == HSA_PACKET_TYPE_KERNEL_DISPATCH;
    ReportInjected("early-packets", read_index_, kernel ? packet.kernel.kernel_object : 0);
  }
  if (late_ != nullptr && (first_word >> HSA_PACKET_HEADER_BARRIER & 1) != 0 &&
      !WaitUntil([&] { return late_->Empty(); }))
    return;
  switch (first_word & 0xFF) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
      RunKernel(packet.kernel, address);
      break;
    case HSA_PACKET_TYPE_BARRIER_AND:
      RunBarrier(packet.barrier, true);
      break;
    case HSA_PACKET_TYPE_BARRIER_OR:
      RunBarrier(packet.barrier, false);
      break;
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
      RunVendor(packet);
      break;
    default:
      HaltWithError(QueueError::kInvalidPacket,
                    "AQL packet type " + std::to_string(first_word & 0xFF) + " on " + device_.name);
  }
}

void AqlQueue::RunBarrier(const hsa_barrier_and_packet_t& packet, bool all) {
  uint64_t start = GpuClockNow();
  uint64_t bad = 0;
  bool mapped = true;
  bool done = WaitUntil([&] {
    bool any_signal = false;
    bool any_zero = false;
    bool all_zero = true;
    for (const hsa_signal_t& signal : packet.dep_signal) {
      if (signal.handle == 0) continue;
      int64_t value = 0;
      mapped = mapped && ReadSignal(memory_, signal.handle, &value, &bad);
      if (!mapped) return true;
      any_signal = true;
      any_zero = any_zero || value == 0;
      all_zero = all_zero && value == 0;
    }
    return !any_signal || (all ? all_zero : any_zero);
  });
  if (!mapped) return FaultAt(bad, kRead, "waiting for a barrier's signal");
  if (done) Finish(packet.completion_signal.handle, start);
}

void AqlQueue::RunVendor(const Packet& packet) {
  uint64_t start = GpuClockNow();
  if (packet.vendor.format == kPm4IndirectBuffer) {
    // The runtime uses these to flush caches. Memory is coherent here; decoded code is not.
    code_->Invalidate();
    return Finish(packet.vendor.completion_signal, start);
  }
  if (packet.vendor.format != kBarrierValue) {
    return HaltWithError(
        QueueError::kInvalidPacket,
        "vendor packet format " + std::to_string(packet.vendor.format) + " on " + device_.name);
  }
  const BarrierValuePacket& barrier = packet.barrier_value;
  uint64_t bad = 0;
  bool mapped = true;
  bool done = WaitUntil([&] {
    if (barrier.signal == 0) return true;
    int64_t value = 0;
    mapped = ReadSignal(memory_, barrier.signal, &value, &bad);
    return !mapped || ConditionHolds(barrier.condition, value & barrier.mask, barrier.value);
  });
  if (!mapped) return FaultAt(bad, kRead, "waiting for a barrier's signal");
  if (done) Finish(barrier.completion_signal, start);
}

bool AqlQueue::EnsureScratch(const Kernel& kernel, QueueFacts* facts, uint64_t* bytes_per_wave,
                             uint32_t* wave_slots) {
  // One translation: the queue structure never straddles a page boundary of two regions.
  auto* queue = QueueField<amd_queue_t>(0);
  if (queue == nullptr) return FaultAt(queue_address_, kRead, "reading the queue"), false;
  uint64_t wanted = uint64_t{kernel.private_bytes_per_lane} * kernel.wave_size;
  auto sufficient = [&] {
    queue = QueueField<amd_queue_t>(0);
    return queue != nullptr && queue->scratch_wave64_lane_byte_size * uint64_t{64} >= wanted;
  };
  if (wanted != 0 && !sufficient()) {
    // Whoever made the packet invalid since it was read does not expect the GPU to ask for it.
    if (!NextIsValid()) return false;
    // The runtime sees the code, allocates, updates the queue and sets the signal back to zero.
    uint64_t signal = queue->queue_inactive_signal.handle;
    uint64_t bad = 0;
    int64_t value = 0;
    int64_t code = kernel.wave_size == 32 ? kNeedsScratchWave32 : kNeedsScratchWave64;
    if (!StoreSignal(memory_, signal, code, device_.gpu_id, callbacks_, &bad))
      return FaultAt(bad, kWrite, "asking for scratch memory"), false;
    if (!WaitUntil([&] { return !ReadSignal(memory_, signal, &value, &bad) || value != code; }))
      return false;
    if (!sufficient()) {
      HaltWithError(QueueError::kInvalidKernel,
                    "the runtime gave no scratch memory for " +
                        std::to_string(kernel.private_bytes_per_lane) + " bytes per lane of " +
                        KernelName(memory_, kernel.object) + " on " + device_.name);
      return false;
    }
  }
  facts->queue_address = queue_address_;
  std::memcpy(facts->scratch_descriptor, queue->scratch_resource_descriptor,
              sizeof(facts->scratch_descriptor));
  facts->scratch_base = queue->scratch_backing_memory_location;
  *bytes_per_wave = wanted == 0 ? 0 : queue->scratch_wave64_lane_byte_size * uint64_t{64};
  // The register counts the waves of one accelerated compute die, or of one shader engine.
  *wave_slots = (queue->compute_tmpring_size & 0xFFF) *
                (architecture_.bit & (kGfx11Targets | kGfx12Targets) ? device_.shader_engines
                                                                     : device_.xcc_count);
  return true;
}

void AqlQueue::ReleaseOneTimeScratch() {
  auto* queue = QueueField<amd_queue_t>(0);
  if (queue == nullptr || !(queue->queue_properties & AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE))
    return;
  uint64_t signal = queue->queue_inactive_signal.handle;
  uint64_t bad = 0;
  int64_t value = 0;
  if (!StoreSignal(memory_, signal, kReclaimOneTimeScratch, device_.gpu_id, callbacks_, &bad))
    return FaultAt(bad, kWrite, "giving scratch memory back");
  WaitUntil([&] {
    return !ReadSignal(memory_, signal, &value, &bad) || value != kReclaimOneTimeScratch;
  });
}

DispatchIdentity AqlQueue::Identify(const Kernel& kernel) {
  DispatchIdentity identity;
  identity.queue = config_.id;
  identity.gpu_id = device_.gpu_id;
  identity.gpu = device_.name;
  identity.kernel = KernelName(memory_, kernel.object);
  identity.architecture = &architecture_;
  identity.wave_size = kernel.wave_size;
  std::copy_n(kernel.grid, 3, identity.grid);
  std::copy_n(kernel.group, 3, identity.group);
  identity.group_count = kernel.group_count;
  identity.waves_per_group = kernel.waves_per_group;
  identity.lds_bytes = kernel.group_bytes;
  identity.scratch_bytes_per_lane = kernel.private_bytes_per_lane;
  identity.vgpr_field = kernel.vgpr_field;
  identity.compute_units = static_cast<uint32_t>(placement()->unit_count());  // of its mask
  identity.simds_per_compute_unit = device_.simds_per_compute_unit;
  identity.max_waves_per_simd = device_.max_waves_per_simd;
  identity.lds_bytes_per_compute_unit = device_.lds_bytes;
  identity.entry = kernel.entry;
  return identity;
}

void AqlQueue::RunKernel(const hsa_kernel_dispatch_packet_t& packet, uint64_t packet_address) {
  if (Happens(&InjectedFaults::inactive_queues)) {
    ReportInjected("inactive-queues", read_index_, packet.kernel_object);
    return HaltWithError(QueueError::kInactivated,
                         "queue made inactive before " + KernelName(memory_, packet.kernel_object) +
                             " on " + device_.name + ", as --fault inactive-queues asks");
  }
  Kernel kernel;
  uint64_t bad = 0;
  std::string why;
  switch (ReadKernel(memory_, packet, device_, architecture_, &kernel, &bad, &why)) {
    case KernelProblem::kNone:
      break;
    case KernelProblem::kUnmapped:
      return FaultAt(bad, kRead, "reading a kernel descriptor");
    case KernelProblem::kInvalid:
      return HaltWithError(
          QueueError::kInvalidKernel,
          why + " for kernel " + KernelName(memory_, packet.kernel_object) + " on " + device_.name);
  }
  QueueFacts facts;
  facts.packet_address = packet_address;
  facts.dispatch_id = read_index_;
  uint64_t bytes_per_wave = 0;
  uint32_t wave_slots = 0;
  if (!EnsureScratch(kernel, &facts, &bytes_per_wave, &wave_slots)) return;
  const bool lost =
      packet.completion_signal.handle != 0 && Happens(&InjectedFaults::drop_completions);
  const uint64_t index = read_index_;
  // Not with scratch memory: ROCr takes that back when the read index has passed the kernel.
  const bool early =
      packet_copy_ != nullptr && bytes_per_wave == 0 && Happens(&InjectedFaults::early_read_index);
  if (early) {
    *packet_copy_ = packet;
    facts.packet_address = reinterpret_cast<uint64_t>(packet_copy_);
    if (!FreeSlot()) return;
  }
  PrepareScalars(packet, facts, device_, architecture_, memory_, &kernel);

  Dispatch::Parameters parameters;
  parameters.kernel = &kernel;
  parameters.device = &device_;
  parameters.architecture = &architecture_;
  parameters.address_space = &space_;
  parameters.callbacks = callbacks_;
  parameters.code = code_->Get(kernel.wave_size, memory_);
  parameters.placement = placement();
  parameters.queue_stopping = &stopping_flag();
  parameters.global_wave_sync = global_wave_sync_;
  if (bytes_per_wave != 0) {
    parameters.scratch_base = facts.scratch_base;
    parameters.scratch_bytes_per_wave = bytes_per_wave;
    parameters.scratch_wave_slots = std::max(wave_slots, kernel.waves_per_group);
  }
  std::unique_ptr<DispatchCounters> counters;
  std::unique_ptr<DispatchAccesses> accesses;
  const bool counting = CounterRecorder::Instance().IsOn();
  const bool tracing = AccessRecorder::Instance().IsOn();
  if (counting || tracing) [[unlikely]] {
    DispatchIdentity identity = Identify(kernel);
    if (tracing) accesses = AccessRecorder::Instance().Begin(identity, kernel.entry);
    if (counting) {
      counters = CounterRecorder::Instance().Begin(std::move(identity));
    } else if (accesses != nullptr) {
      counters = std::make_unique<DispatchCounters>(std::move(identity));  // only to look
    }
  }
  parameters.counters = counters.get();
  parameters.accesses = accesses.get();
  uint64_t start = GpuClockNow();
  auto dispatch = std::make_shared<Dispatch>(std::move(parameters));
  dispatch->Run(dispatch, memory_);
  const bool completed = !dispatch->failure() && !stopping();
  if (counting) CounterRecorder::Instance().End(*counters, completed);
  if (accesses != nullptr) AccessRecorder::Instance().End(*accesses, completed);
  instructions_->fetch_add(dispatch->instructions(), std::memory_order_relaxed);
  if (const auto& failure = dispatch->failure()) {
    if (failure->reason == StopReason::kMemoryFault)
      return HaltWithFault(failure->fault, failure->what);
    return HaltWithError(ErrorOf(failure->reason), failure->what);
  }
  if (stopping()) return;
  if (bytes_per_wave != 0) ReleaseOneTimeScratch();
  if (!early && !FreeSlot()) return;
  if (lost) return ReportInjected("drop-completions", index, packet.kernel_object);
  Complete(packet.completion_signal.handle, start);
}

// Two threads that ring for neighbouring packets may store in the wrong order, and the doorbell
// then holds the lower index; a GPU sees both stores, a reader of memory only the last. A packet
// that has been valid for a while without a doorbell is taken for one of those. Not at once: a
// program may rely on the GPU not looking at a packet before its doorbell.
bool AqlQueue::TakeStranded() {
  constexpr uint64_t kPatienceNs = 100'000'000;
  if (last_submitted_plus_1_ == 0) return false;  // never rung
  if (WriteIndex() <= read_index_ || !NextIsValid()) {
    stranded_since_ns_ = 0;
    return false;
  }
  const uint64_t now = base::MonotonicRawNs();
  if (stranded_since_ns_ == 0 || stranded_index_ != read_index_) {
    stranded_since_ns_ = now;
    stranded_index_ = read_index_;
  }
  if (now - stranded_since_ns_ < kPatienceNs) return false;
  last_submitted_plus_1_ = read_index_ + 1;
  return true;
}

void AqlQueue::Finish(uint64_t signal, uint64_t start) {
  if (FreeSlot()) Complete(signal, start);
}

bool AqlQueue::FreeSlot() {
  // The slot is free once the read index has passed it: mark it, move on, then tell.
  uint64_t slots = config_.ring_bytes / kPacketBytes;
  ROCHOUND_DCHECK(slots != 0);
  uint64_t address = config_.ring_address + read_index_ % slots * kPacketBytes;
  if (auto* header = reinterpret_cast<uint16_t*>(memory_.Translate(address, 2, kWrite)))
    __atomic_store_n(header, uint16_t{HSA_PACKET_TYPE_INVALID}, __ATOMIC_RELEASE);
  ++read_index_;
  auto* read_index =
      reinterpret_cast<uint64_t*>(memory_.Translate(config_.read_index_address, 8, kWrite));
  if (read_index == nullptr) return FaultAt(config_.read_index_address, kWrite, "advancing"), false;
  __atomic_store_n(read_index, read_index_, __ATOMIC_RELEASE);
  return true;
}

}  // namespace rochound::softgpu
