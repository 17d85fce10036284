// SPDX-License-Identifier: MIT
#include "softgpu/driver/events.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/mutex.h"

namespace rochound::softgpu {
namespace {

constexpr uint32_t kFirstOtherId = 0x80000000;
// Never a last_event_age that a program starts with: 0 is "no age", 1 is what it takes for new.
constexpr uint64_t kFirstAge = 1;

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Sleeps while the word is 0, until the time given (CLOCK_MONOTONIC; negative: for ever).
void SleepWhileZero(std::atomic<uint32_t>& word, int64_t until_ns) {
  timespec until;
  if (until_ns >= 0) {
    until.tv_sec = until_ns / 1'000'000'000;
    until.tv_nsec = until_ns % 1'000'000'000;
  }
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_BITSET_PRIVATE, 0,
          until_ns >= 0 ? &until : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
}

}  // namespace

struct EventTable::WaitCall {
  std::atomic<uint32_t> woken{0};
  bool sleeping = false;  // guarded by the table's lock

  void Wake() {
    woken.store(1, std::memory_order_release);
    if (!sleeping) return;
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&woken), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr,
            0);
  }
};

// One event of one Wait. On the stack of the waiting thread, in the event's list while it is not
// activated.
struct EventTable::Waiter {
  WaitCall* call = nullptr;
  Event* event = nullptr;  // nullptr: destroyed while we waited
  bool activated = false;
  bool wants_age = false;
  bool listed = false;
};

struct EventTable::Event {
  uint32_t id = 0;
  uint32_t type = 0;
  bool auto_reset = false;
  bool signaled = false;
  uint64_t age = kFirstAge;
  std::vector<Waiter*> waiters;
  kfd::MemoryExceptionData memory_exception{};
  kfd::HwExceptionData hw_exception{};

  bool IsSignal() const { return type == kfd::kEventSignal || type == kfd::kEventDebug; }
};

EventTable::EventTable() : signal_events_(kfd::kSignalEventLimit), next_other_id_(kFirstOtherId) {}
EventTable::~EventTable() = default;

EventTable::Event* EventTable::Find(uint32_t id) {
  if (id < signal_events_.size()) return signal_events_[id].get();
  const auto found = other_events_.find(id);
  return found == other_events_.end() ? nullptr : found->second.get();
}

int EventTable::Create(uint32_t type, bool auto_reset, uint32_t* id) {
  if (type > kfd::kEventMemory) return -EINVAL;
  auto event = std::make_unique<Event>();
  event->type = type;
  event->auto_reset = auto_reset;
  const base::Lock lock(mutex_);
  if (event->IsSignal()) {
    while (first_free_ < signal_events_.size() && signal_events_[first_free_]) ++first_free_;
    if (first_free_ >= signal_events_.size()) return -ENOSPC;
    event->id = first_free_++;
    if (slots_ != nullptr) slots_[event->id].store(kfd::kUnsignaledSlot, std::memory_order_relaxed);
    *id = event->id;
    signal_events_[event->id] = std::move(event);
  } else {
    event->id = next_other_id_++;
    *id = event->id;
    other_events_[event->id] = std::move(event);
  }
  return 0;
}

int EventTable::Destroy(uint32_t id) {
  const base::Lock lock(mutex_);
  Event* event = Find(id);
  if (event == nullptr) return -EINVAL;
  for (Waiter* waiter : event->waiters) {
    waiter->event = nullptr;
    waiter->listed = false;
    waiter->call->Wake();
  }
  if (id < signal_events_.size()) {
    signal_events_[id].reset();
    first_free_ = std::min(first_free_, id);
  } else {
    other_events_.erase(id);
  }
  return 0;
}

void EventTable::Signal(Event& event) {
  event.signaled = !event.auto_reset || event.waiters.empty();
  ++event.age;
  for (Waiter* waiter : event.waiters) {
    waiter->activated = true;
    waiter->listed = false;
    waiter->call->Wake();
  }
  event.waiters.clear();
}

int EventTable::Set(uint32_t id) {
  const base::Lock lock(mutex_);
  Event* event = Find(id);
  if (event == nullptr || event->type != kfd::kEventSignal) return -EINVAL;
  Signal(*event);
  return 0;
}

int EventTable::Reset(uint32_t id) {
  const base::Lock lock(mutex_);
  Event* event = Find(id);
  if (event == nullptr || event->type != kfd::kEventSignal) return -EINVAL;
  event->signaled = false;
  return 0;
}

int EventTable::SetPage(std::atomic<uint64_t>* slots) {
  const base::Lock lock(mutex_);
  if (slots_ != nullptr) return -EBUSY;
  for (uint32_t id = 0; id < kfd::kSignalEventLimit; ++id)
    slots[id].store(kfd::kUnsignaledSlot, std::memory_order_relaxed);
  slots_ = slots;
  return 0;
}

void EventTable::Register(Waiter& waiter, const kfd::EventData& data) {
  Event& event = *waiter.event;
  waiter.activated = event.signaled;
  event.signaled = event.signaled && !event.auto_reset;
  if (event.type == kfd::kEventSignal && data.last_event_age != 0) {
    waiter.wants_age = true;
    if (event.age != data.last_event_age) waiter.activated = true;
  }
  if (!waiter.activated) {
    event.waiters.push_back(&waiter);
    waiter.listed = true;
  }
}

void EventTable::Remove(Waiter& waiter) {
  if (!waiter.listed) return;
  auto& list = waiter.event->waiters;
  list.erase(std::find(list.begin(), list.end(), &waiter));
  waiter.listed = false;
}

int EventTable::Wait(kfd::EventData* data, uint32_t count, bool all, uint32_t timeout_ms,
                     uint32_t* wait_result, const std::function<void()>& before_blocking) {
  const int64_t until =
      timeout_ms == kfd::kWaitForever ? -1 : NowNs() + int64_t{timeout_ms} * 1'000'000;

  WaitCall call;
  constexpr uint32_t kFew = 8;
  Waiter few[kFew];
  std::vector<Waiter> many;
  if (count > kFew) many.resize(count);
  Waiter* const waiters = count > kFew ? many.data() : few;

  base::UniqueLock lock(mutex_);
  for (uint32_t i = 0; i < count; ++i) {
    waiters[i].call = &call;
    waiters[i].event = Find(data[i].event_id);
    if (waiters[i].event == nullptr) {
      for (uint32_t k = 0; k < i; ++k) Remove(waiters[k]);
      *wait_result = kfd::kWaitFail;
      return -EINVAL;
    }
    Register(waiters[i], data[i]);
  }

  const auto check = [&] {
    uint32_t activated = 0;
    for (uint32_t i = 0; i < count; ++i) {
      if (waiters[i].event == nullptr) return kfd::kWaitFail;
      activated += waiters[i].activated ? 1 : 0;
    }
    const bool complete = all ? activated == count : activated > 0;
    return complete || count == 0 ? kfd::kWaitComplete : kfd::kWaitTimeout;
  };

  kfd::WaitResult result = check();
  if (result == kfd::kWaitTimeout) {
    lock.unlock();
    before_blocking();
    lock.lock();
    while ((result = check()) == kfd::kWaitTimeout) {
      if (timeout_ms != kfd::kWaitForever && NowNs() >= until) break;
      call.woken.store(0, std::memory_order_relaxed);
      call.sleeping = true;
      lock.unlock();
      SleepWhileZero(call.woken, until);
      lock.lock();
      call.sleeping = false;
    }
  }

  for (uint32_t i = 0; i < count; ++i) {
    Waiter& waiter = waiters[i];
    Remove(waiter);
    if (result != kfd::kWaitComplete || !waiter.activated) continue;
    const Event& event = *waiter.event;
    if (event.type == kfd::kEventMemory)
      data[i].memory_exception = event.memory_exception;
    else if (event.type == kfd::kEventHwException)
      data[i].hw_exception = event.hw_exception;
    else if (waiter.wants_age)
      data[i].last_event_age = event.age;
  }
  *wait_result = result;
  return result == kfd::kWaitFail ? -EIO : 0;
}

void EventTable::Interrupt(uint32_t id) {
  const base::Lock lock(mutex_);
  Event* event = id < signal_events_.size() ? signal_events_[id].get() : nullptr;
  if (event != nullptr) {
    if (slots_ != nullptr) slots_[id].store(kfd::kUnsignaledSlot, std::memory_order_relaxed);
    Signal(*event);
    return;
  }
  if (slots_ == nullptr) return;
  for (uint32_t slot = 0; slot < kfd::kSignalEventLimit; ++slot) {
    if (signal_events_[slot] == nullptr ||
        slots_[slot].load(std::memory_order_relaxed) == kfd::kUnsignaledSlot)
      continue;
    slots_[slot].store(kfd::kUnsignaledSlot, std::memory_order_relaxed);
    Signal(*signal_events_[slot]);
  }
}

void EventTable::RaiseMemoryException(const kfd::MemoryExceptionData& data) {
  const base::Lock lock(mutex_);
  for (auto& [id, event] : other_events_) {
    if (event->type != kfd::kEventMemory) continue;
    event->memory_exception = data;
    Signal(*event);
  }
}

void EventTable::RaiseHwException(const kfd::HwExceptionData& data) {
  const base::Lock lock(mutex_);
  for (auto& [id, event] : other_events_) {
    if (event->type != kfd::kEventHwException) continue;
    event->hw_exception = data;
    Signal(*event);
  }
}

}  // namespace rochound::softgpu
