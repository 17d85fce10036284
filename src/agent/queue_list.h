// SPDX-License-Identifier: MIT
//
// The queues that are followed: a list to visit them all (ForEachQueue of queue.h), and a table to
// find one by its doorbell without a lock. Objects of queues that are gone get later queues. Any
// thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "agent/queue.h"

namespace rochound::agent {

namespace internal {
inline constexpr size_t kDoorbells = 4096;
extern std::atomic<Queue*> by_doorbell[kDoorbells];
inline size_t FirstPlace(uint64_t doorbell) {
  return (doorbell >> 6) * 0x9e3779b97f4a7c15ull >> 52;
}
static_assert(kDoorbells == 1u << 12, "FirstPlace takes twelve bits");
}  // namespace internal

inline Queue* FindQueue(uint64_t doorbell) {
  using internal::kDoorbells;
  for (size_t at = internal::FirstPlace(doorbell), looked = 0; looked < kDoorbells;
       ++at, ++looked) {
    Queue* queue = internal::by_doorbell[at % kDoorbells].load(std::memory_order_acquire);
    if (queue == nullptr) return nullptr;
    if (queue->doorbell.load(std::memory_order_relaxed) == doorbell) return queue;
  }
  return nullptr;
}

// Every queue that can be found by its doorbell. Takes no lock and no memory.
template <typename Function>
void ForEachDoorbell(Function function) {
  for (const std::atomic<Queue*>& place : internal::by_doorbell)
    if (Queue* const queue = place.load(std::memory_order_acquire)) function(*queue);
}

// Adds a queue, unless there are too many. `begin` makes the object one of this queue, with both of
// its locks held, and `describe` is called before the queue can be found by its doorbell.
void AddQueue(uint64_t doorbell, const std::function<void(Queue&)>& begin,
              const std::function<void(Queue&)>& describe);

// The queue was destroyed. `reuse`: the runtime has forgotten it, too.
void RemoveQueue(Queue& queue, bool reuse);

void ForgetQueueListAfterFork();

}  // namespace rochound::agent
