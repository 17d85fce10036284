// SPDX-License-Identifier: MIT
#include "softgpu/driver/queues.h"

#include <errno.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>

#include <cstddef>

#include "base/check.h"
#include "base/mutex.h"
#include "softgpu/driver/message.h"

namespace rochound::softgpu {
namespace {

constexpr uint32_t kDoorbellSlots = kfd::kDoorbellPageBytes / kfd::kDoorbellBytes;

// What the runtime's queue handler takes from the inactive signal.
uint64_t InactiveCode(QueueError error) {
  switch (error) {
    case QueueError::kIllegalInstruction:
      return 0x40000000;
    case QueueError::kApertureViolation:
    case QueueError::kMemoryViolation:
      return 0x20000000;
    case QueueError::kTrap:
      return 0x80000000;
    case QueueError::kInvalidPacket:
      return 0x20;
    case QueueError::kInvalidKernel:
      return 0x8;
    case QueueError::kInactivated:
      break;
  }
  return 0x80000000;
}

uint64_t ExceptionBits(QueueError error) {
  switch (error) {
    case QueueError::kIllegalInstruction:
      return kfd::ExceptionMask(kfd::kWaveIllegalInstruction);
    // The runtime drops kWaveMemoryViolation, since a memory exception event comes along with it on
    // hardware; there is none for an access that is wrong whatever is mapped.
    case QueueError::kApertureViolation:
    case QueueError::kMemoryViolation:
      return kfd::ExceptionMask(kfd::kWaveApertureViolation);
    case QueueError::kTrap:
      return kfd::ExceptionMask(kfd::kWaveTrap);
    case QueueError::kInvalidPacket:
      return kfd::ExceptionMask(kfd::kPacketUnsupported);
    case QueueError::kInvalidKernel:
      return kfd::ExceptionMask(kfd::kPacketDispatchCodeInvalid);
    // Not a preemption error, which it is: ROCr's number for that is not the driver's, and it ends
    // the program by an assertion.
    case QueueError::kInactivated:
      break;
  }
  return kfd::ExceptionMask(kfd::kWaveAbort);
}

template <typename Word>
void AtomicOr(volatile Word* word, Word bits) {
  __atomic_fetch_or(word, bits, __ATOMIC_ACQ_REL);
}

}  // namespace

int QueueTable::TakeDoorbell(Gpu& gpu, uint32_t* slot) {
  gpu.doorbell_slots.resize(kDoorbellSlots);
  for (uint32_t i = 0; i < kDoorbellSlots; ++i) {
    if (gpu.doorbell_slots[i]) continue;
    gpu.doorbell_slots[i] = true;
    *slot = i;
    return 0;
  }
  return -ENOMEM;
}

int QueueTable::Create(Gpu& gpu, kfd::CreateQueueArgs& args) {
  Device* device = gpu.device.load(std::memory_order_acquire);
  if (device == nullptr) return -EINVAL;
  QueueConfig config;
  switch (args.queue_type) {
    case kfd::kQueueComputeAql:
      config.kind = QueueKind::kAql;
      break;
    case kfd::kQueueSdma:
    case kfd::kQueueSdmaXgmi:
    case kfd::kQueueSdmaByEngine:
      config.kind = QueueKind::kSdma;
      break;
    default:
      PrintFormatted("queue type %u is not implemented (compute queues have to be AQL)",
                     args.queue_type);
      return -EINVAL;
  }
  const bool power_of_two = (args.ring_size & (args.ring_size - 1)) == 0;
  if (args.ring_base_address == 0 || args.read_pointer_address == 0 ||
      args.write_pointer_address == 0 || args.queue_percentage > 100 ||
      (args.ring_size != 0 && !power_of_two))
    return -EINVAL;
  volatile uint64_t* doorbells = memory_.Doorbells(gpu);
  if (doorbells == nullptr) return -ENOMEM;

  Queue queue;
  {
    const base::Lock lock(mutex_);
    if (const int error = TakeDoorbell(gpu, &queue.doorbell_slot)) return error;
    config.id = next_id_++;
    queue.gpu = &gpu;
    queue.kind = config.kind;
    queue.read_index_address = args.read_pointer_address;
    queue.context_save_address = args.ctx_save_restore_address;
    queue.reports_exceptions = exceptions_enabled_.load() && args.ctx_save_restore_address != 0;
    ROCHOUND_DCHECK(!queues_.contains(config.id));
    queues_[config.id] = queue;
  }
  config.ring_address = args.ring_base_address;
  config.ring_bytes = args.ring_size;
  config.read_index_address = args.read_pointer_address;
  config.write_index_address = args.write_pointer_address;
  config.doorbell = doorbells + queue.doorbell_slot;
  *config.doorbell = ~uint64_t{0};
  device->CreateQueue(config);

  args.queue_id = config.id;
  args.doorbell_offset = kfd::kMmapDoorbell | kfd::MmapGpu(gpu.facts.gpu_id) |
                         queue.doorbell_slot * kfd::kDoorbellBytes;
  return 0;
}

int QueueTable::Update(const kfd::UpdateQueueArgs& args) {
  const bool power_of_two = (args.ring_size & (args.ring_size - 1)) == 0;
  if (args.queue_percentage > 100 || (args.ring_size != 0 && !power_of_two)) return -EINVAL;
  Device* device = nullptr;
  {
    const base::Lock lock(mutex_);
    const auto found = queues_.find(args.queue_id);
    if (found == queues_.end() || found->second.being_destroyed) return -EINVAL;
    device = found->second.gpu->device.load(std::memory_order_acquire);
  }
  device->UpdateQueue(args.queue_id, args.ring_base_address, args.ring_size, args.queue_percentage);
  return 0;
}

int QueueTable::Destroy(uint32_t id) {
  Gpu* gpu = nullptr;
  {
    const base::Lock lock(mutex_);
    const auto found = queues_.find(id);
    if (found == queues_.end() || found->second.being_destroyed) return -EINVAL;
    found->second.being_destroyed = true;
    gpu = found->second.gpu;
  }
  gpu->device.load(std::memory_order_acquire)->DestroyQueue(id);
  const base::Lock lock(mutex_);
  ROCHOUND_DCHECK(queues_.contains(id));
  ROCHOUND_DCHECK(gpu->doorbell_slots[queues_[id].doorbell_slot]);
  gpu->doorbell_slots[queues_[id].doorbell_slot] = false;
  queues_.erase(id);
  return 0;
}

int QueueTable::AllocGws(kfd::AllocQueueGwsArgs& args) {
  const base::Lock lock(mutex_);
  const auto found = queues_.find(args.queue_id);
  if (found == queues_.end() || found->second.being_destroyed ||
      found->second.kind != QueueKind::kAql)
    return -EINVAL;
  if (args.num_gws > found->second.gpu->facts.gws) return -EBUSY;
  if (args.num_gws != 0 && found->second.gws != 0) return -EBUSY;
  found->second.gws = args.num_gws;
  args.first_gws = 0;
  return 0;
}

int QueueTable::SetCuMask(const kfd::SetCuMaskArgs& args) {
  if (args.num_cu_mask == 0 || args.num_cu_mask % 32 != 0) return -EINVAL;
  const base::Lock lock(mutex_);
  const auto found = queues_.find(args.queue_id);
  if (found == queues_.end() || found->second.being_destroyed) return -EFAULT;
  const auto* words = reinterpret_cast<const uint32_t*>(args.cu_mask_ptr);
  const std::vector<uint32_t> mask(words, words + args.num_cu_mask / 32);
  const Gpu& gpu = *found->second.gpu;
  bool any = false;
  for (uint32_t cu = 0; cu < gpu.facts.cu_count && cu < args.num_cu_mask; ++cu)
    any |= (mask[cu / 32] >> cu % 32 & 1) != 0;
  if (!any) return -EINVAL;
  gpu.device.load(std::memory_order_acquire)->SetCuMask(args.queue_id, mask);
  return 0;
}

bool QueueTable::Empty() {
  const base::Lock lock(mutex_);
  return queues_.empty();
}

void QueueTable::ReportError(uint32_t id, QueueError error) {
  // Under the lock: Destroy cannot finish before us, so the runtime has not freed what we write to.
  // It may be in the middle of closing the queue down; then nobody wants to know.
  const base::Lock lock(mutex_);
  const auto found = queues_.find(id);
  if (found == queues_.end() || found->second.being_destroyed) return;
  const Queue& queue = found->second;

  if (queue.reports_exceptions) {
    const auto* header =
        reinterpret_cast<const kfd::ContextSaveAreaHeader*>(queue.context_save_address);
    if (header->err_payload_address != 0) {
      AtomicOr(reinterpret_cast<volatile uint64_t*>(header->err_payload_address),
               ExceptionBits(error));
      events_.Interrupt(header->err_event_id);
      return;
    }
  }
  if (queue.kind != QueueKind::kAql) {
    // No runtime reads anything from an SDMA queue; to it this is a GPU that hangs.
    kfd::HwExceptionData data{};
    data.gpu_id = queue.gpu->facts.gpu_id;
    events_.RaiseHwException(data);
    return;
  }
  // The read index the program gave us is a member of its queue structure.
  const auto* structure = reinterpret_cast<const amd_queue_t*>(
      queue.read_index_address - offsetof(amd_queue_t, read_dispatch_id));
  auto* signal = reinterpret_cast<amd_signal_t*>(structure->queue_inactive_signal.handle);
  if (signal == nullptr) {
    PrintFormatted("queue %u has no inactive signal; its error cannot be reported", id);
    return;
  }
  AtomicOr(reinterpret_cast<volatile uint64_t*>(&signal->value), InactiveCode(error));
  if (signal->event_mailbox_ptr == 0) return;
  __atomic_store_n(reinterpret_cast<volatile uint64_t*>(signal->event_mailbox_ptr),
                   uint64_t{signal->event_id}, __ATOMIC_RELEASE);
  events_.Interrupt(signal->event_id);
}

}  // namespace rochound::softgpu
