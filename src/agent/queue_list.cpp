// SPDX-License-Identifier: MIT
#include "agent/queue_list.h"

#include <new>
#include <vector>

#include "agent/spin_lock.h"
#include "base/check.h"
#include "base/mutex.h"
#include "trace/records.h"

namespace rochound::agent {

namespace internal {
constinit std::atomic<Queue*> by_doorbell[kDoorbells];
}

namespace {

using internal::by_doorbell;
using internal::kDoorbells;

constinit SpinLock changing;
constinit Queue removed{};  // in the place of a queue that is gone, if there are some after it
constinit std::atomic<uint32_t> visits{0};  // calls of ForEachQueue that have not returned
constinit uint32_t queues_added ROCHOUND_GUARDED_BY(changing) = 0;  // the last index
constinit Queue* unused_queues ROCHOUND_GUARDED_BY(changing) = nullptr;

std::vector<Queue*>& AllQueues() ROCHOUND_REQUIRES(changing) {
  static auto* const queues = new std::vector<Queue*>;
  return *queues;
}

// kDoorbells: there is none.
uint32_t FreePlace(uint64_t doorbell) ROCHOUND_REQUIRES(changing) {
  for (size_t at = internal::FirstPlace(doorbell), looked = 0; looked < kDoorbells;
       ++at, ++looked) {
    const Queue* there = by_doorbell[at % kDoorbells].load(std::memory_order_relaxed);
    if (there == nullptr || there == &removed) return static_cast<uint32_t>(at % kDoorbells);
  }
  return kDoorbells;
}

void EmptyPlace(size_t at) ROCHOUND_REQUIRES(changing) {
  ROCHOUND_DCHECK(at < kDoorbells);
  by_doorbell[at].store(&removed, std::memory_order_release);
  if (by_doorbell[(at + 1) % kDoorbells].load(std::memory_order_relaxed) != nullptr) return;
  // Nobody looks for anything past the last.
  for (; by_doorbell[at].load(std::memory_order_relaxed) == &removed;
       at = (at + kDoorbells - 1) % kDoorbells)
    by_doorbell[at].store(nullptr, std::memory_order_release);
}

// An object for a new queue, both of its locks held: which ones the analysis cannot know.
Queue* UnusedQueue() ROCHOUND_REQUIRES(changing) ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  for (Queue** link = &unused_queues; *link != nullptr && visits == 0;
       link = &(*link)->next_unused) {
    Queue* const queue = *link;
    if (!queue->submitting.try_lock()) continue;
    // A capture comes back to the queue for which it released the lock.
    if (!queue->holds_next && queue->harvesting.try_lock()) {
      *link = queue->next_unused;
      return queue;
    }
    queue->submitting.unlock();
  }
  auto* const queue = new Queue;
  queue->submitting.lock();
  queue->harvesting.lock();
  return queue;
}

}  // namespace

void AddQueue(uint64_t doorbell, const std::function<void(Queue&)>& begin,
              const std::function<void(Queue&)>& describe) {
  const base::Lock lock(changing);
  const uint32_t place = FreePlace(doorbell);
  if (queues_added == trace::kMostQueues || place == kDoorbells) return;
  Queue* const queue = UnusedQueue();
  {
    queue->submitting.AssertHeld();
    queue->harvesting.AssertHeld();
    const base::Lock nobody_submits(queue->submitting, std::adopt_lock);
    const base::Lock nobody_looks(queue->harvesting, std::adopt_lock);
    ROCHOUND_DCHECK(queue->doorbell == 0);
    AllQueues().push_back(queue);
    queue->place = place;
    queue->index = ++queues_added;
    begin(*queue);
  }
  ROCHOUND_DCHECK(queue->doorbell == doorbell);
  describe(*queue);
  by_doorbell[place].store(queue, std::memory_order_release);
}

void RemoveQueue(Queue& queue, bool reuse) {
  const base::Lock lock(changing);
  if (std::erase(AllQueues(), &queue) == 0) return;
  ROCHOUND_DCHECK(by_doorbell[queue.place].load(std::memory_order_relaxed) == &queue);
  ROCHOUND_DCHECK(queue.doorbell == 0);
  EmptyPlace(queue.place);
  if (!reuse) return;
  queue.next_unused = unused_queues;
  unused_queues = &queue;
}

void ForEachQueue(const std::function<void(Queue&)>& function) {
  std::vector<Queue*> queues;
  {
    if (!changing.lock_soon()) return;
    const base::Lock lock(changing, std::adopt_lock);
    queues = AllQueues();
    ++visits;
  }
  struct Visit {
    ~Visit() {
      ROCHOUND_DCHECK(visits != 0);
      --visits;
    }
  } const visit;
  for (Queue* queue : queues) function(*queue);
}

void ForgetQueueListAfterFork() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  for (std::atomic<Queue*>& place : by_doorbell) place.store(nullptr);
  new (&changing) SpinLock;
  // Not cleared: another thread of the parent may have been changing it.
  new (&AllQueues()) std::vector<Queue*>;
  unused_queues = nullptr;
  queues_added = 0;
  visits = 0;
}

}  // namespace rochound::agent
