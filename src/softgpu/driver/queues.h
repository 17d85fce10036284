// SPDX-License-Identifier: MIT
//
// The queues of one process: their ids, doorbells and the words through which the runtime learns
// that one has failed. Any thread. The lock is never held while a Device is called, because
// DestroyQueue waits for the device's threads and those report errors here.
//
// How a failed queue is reported depends on the runtime. One that has called RUNTIME_ENABLE names,
// at the start of the queue's context save area, a word for exception bits and an event. Others are
// told by what their trap handler and the command processor's firmware write: a code in the value
// of the queue's inactive signal, and that signal's event.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>

#include "base/mutex.h"
#include "softgpu/driver/events.h"
#include "softgpu/driver/gpu.h"
#include "softgpu/driver/kfd_abi.h"
#include "softgpu/driver/memory.h"
#include "softgpu/machine/device.h"

namespace rochound::softgpu {

class QueueTable {
 public:
  QueueTable(MemoryManager& memory, EventTable& events) : memory_(memory), events_(events) {}
  QueueTable(const QueueTable&) = delete;
  QueueTable& operator=(const QueueTable&) = delete;

  // All return 0 or -errno.
  int Create(Gpu& gpu, kfd::CreateQueueArgs& args);
  int Update(const kfd::UpdateQueueArgs& args);
  int Destroy(uint32_t id);
  int AllocGws(kfd::AllocQueueGwsArgs& args);
  int SetCuMask(const kfd::SetCuMaskArgs& args);
  bool Empty();

  // RUNTIME_ENABLE: queues made from now on report by exception bits.
  void EnableExceptions(bool enable) { exceptions_enabled_.store(enable); }

  // From the device's threads: tells the runtime that the queue has failed.
  void ReportError(uint32_t id, QueueError error);

  // Around fork: see Driver.
  base::Mutex& mutex() ROCHOUND_RETURN_CAPABILITY(mutex_) { return mutex_; }

 private:
  struct Queue {
    Gpu* gpu = nullptr;
    QueueKind kind = QueueKind::kAql;
    uint32_t doorbell_slot = 0;
    uint64_t read_index_address = 0;
    uint64_t context_save_address = 0;
    bool reports_exceptions = false;
    bool being_destroyed = false;
    uint32_t gws = 0;
  };

  int TakeDoorbell(Gpu& gpu, uint32_t* slot) ROCHOUND_REQUIRES(mutex_);

  MemoryManager& memory_;
  EventTable& events_;
  std::atomic<bool> exceptions_enabled_{false};
  base::Mutex mutex_;
  std::map<uint32_t, Queue> queues_ ROCHOUND_GUARDED_BY(mutex_);
  uint32_t next_id_ ROCHOUND_GUARDED_BY(mutex_) = 1;
};

}  // namespace rochound::softgpu
