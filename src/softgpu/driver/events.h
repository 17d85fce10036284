// SPDX-License-Identifier: MIT
//
// The events of one process, as the KFD has them: the program creates and waits, the GPU's threads
// and the program signal. Any thread. One lock, held only for moments and never while anything else
// is called, so that the GPU's threads may signal at any time.
//
// A signal event has a slot of 64 bits in the event page, which the program allocates in memory
// that the GPU can write. The GPU stores the event's id there and raises an interrupt that carries
// the same id; the driver sets the slot back to all ones. The age of an event counts how often it
// was signalled: a waiter that hands in the age it saw last is not made to wait if that is no
// longer the age, however often the event was reset in between. An auto-reset event that is
// signalled while somebody waits for it is used up by waking all of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "softgpu/driver/kfd_abi.h"

namespace rochound::softgpu {

class EventTable {
 public:
  EventTable();
  ~EventTable();
  EventTable(const EventTable&) = delete;
  EventTable& operator=(const EventTable&) = delete;

  // All functions return 0 or -errno.
  int Create(uint32_t type, bool auto_reset, uint32_t* id);
  int Destroy(uint32_t id);
  int Set(uint32_t id);  // by the program; only signal events
  int Reset(uint32_t id);

  // kfd::kSignalEventLimit slots, valid as long as the process lives; only once.
  int SetPage(std::atomic<uint64_t>* slots);

  // Waits until any or all of the events are signalled, for at most timeout_ms. Fills in what the
  // kernel would in `data`. `before_blocking` is called, without the lock, if the wait would block.
  int Wait(kfd::EventData* data, uint32_t count, bool all, uint32_t timeout_ms,
           uint32_t* wait_result, const std::function<void()>& before_blocking);

  // From the GPU. An id that is no signal event means: look which slots were written.
  void Interrupt(uint32_t id);
  void RaiseMemoryException(const kfd::MemoryExceptionData& data);
  void RaiseHwException(const kfd::HwExceptionData& data);

  // Around fork: see Driver.
  base::Mutex& mutex() ROCHOUND_RETURN_CAPABILITY(mutex_) { return mutex_; }

 private:
  struct Event;
  struct Waiter;
  struct WaitCall;

  Event* Find(uint32_t id) ROCHOUND_REQUIRES(mutex_);
  void Signal(Event& event) ROCHOUND_REQUIRES(mutex_);
  void Register(Waiter& waiter, const kfd::EventData& data) ROCHOUND_REQUIRES(mutex_);
  static void Remove(Waiter& waiter);

  base::Mutex mutex_;
  std::vector<std::unique_ptr<Event>> signal_events_
      ROCHOUND_GUARDED_BY(mutex_);                       // by id, which is the slot too
  uint32_t first_free_ ROCHOUND_GUARDED_BY(mutex_) = 1;  // no free id below; 0 is never used
  std::map<uint32_t, std::unique_ptr<Event>> other_events_ ROCHOUND_GUARDED_BY(mutex_);
  uint32_t next_other_id_ ROCHOUND_GUARDED_BY(mutex_);
  std::atomic<uint64_t>* slots_ ROCHOUND_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace rochound::softgpu
