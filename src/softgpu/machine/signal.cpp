// SPDX-License-Identifier: MIT
#include "softgpu/machine/signal.h"

#include <hsa/amd_hsa_signal.h>

#include "softgpu/machine/activity.h"

namespace rochound::softgpu {
namespace {

amd_signal_t* Locate(AddressSpace::Reader& memory, uint64_t signal, uint64_t* bad) {
  *bad = signal;
  return reinterpret_cast<amd_signal_t*>(
      memory.Translate(signal, sizeof(amd_signal_t), kRead | kWrite));
}

bool RaiseEvent(AddressSpace::Reader& memory, uint64_t mailbox, uint32_t event_id, uint32_t gpu_id,
                DriverCallbacks* callbacks, uint64_t* bad) {
  Activity::Instance().Kick();  // another queue may wait for this signal
  if (mailbox == 0) return true;
  *bad = mailbox;
  auto* slot = reinterpret_cast<uint64_t*>(memory.Translate(mailbox, 8, kWrite));
  if (slot == nullptr) return false;
  __atomic_store_n(slot, uint64_t{event_id}, __ATOMIC_RELEASE);
  callbacks->OnInterrupt(gpu_id, event_id);
  return true;
}

}  // namespace

bool ReadSignal(AddressSpace::Reader& memory, uint64_t signal, int64_t* value, uint64_t* bad) {
  amd_signal_t* s = Locate(memory, signal, bad);
  if (s == nullptr) return false;
  *value = __atomic_load_n(&s->value, __ATOMIC_ACQUIRE);
  return true;
}

bool CompleteSignal(AddressSpace::Reader& memory, uint64_t signal,
                    const std::optional<PacketTimes>& times, uint32_t gpu_id,
                    DriverCallbacks* callbacks, uint64_t* bad) {
  if (signal == 0) return true;
  amd_signal_t* s = Locate(memory, signal, bad);
  if (s == nullptr) return false;
  if (times) {
    __atomic_store_n(&s->start_ts, times->start, __ATOMIC_RELAXED);
    __atomic_store_n(&s->end_ts, times->end, __ATOMIC_RELAXED);
  }
  // Whoever sees the new value may reuse the signal at once: read the rest before.
  uint64_t mailbox = s->event_mailbox_ptr;
  uint32_t event_id = s->event_id;
  __atomic_fetch_sub(&s->value, 1, __ATOMIC_ACQ_REL);
  return RaiseEvent(memory, mailbox, event_id, gpu_id, callbacks, bad);
}

bool StoreSignal(AddressSpace::Reader& memory, uint64_t signal, int64_t value, uint32_t gpu_id,
                 DriverCallbacks* callbacks, uint64_t* bad) {
  amd_signal_t* s = Locate(memory, signal, bad);
  if (s == nullptr) return false;
  uint64_t mailbox = s->event_mailbox_ptr;
  uint32_t event_id = s->event_id;
  __atomic_store_n(&s->value, value, __ATOMIC_RELEASE);
  return RaiseEvent(memory, mailbox, event_id, gpu_id, callbacks, bad);
}

}  // namespace rochound::softgpu
