// SPDX-License-Identifier: MIT
//
// What is known about one queue of the program. Shared by the files that follow queues; queues.h
// is what everybody else sees. Queue objects are kept for ever: a thread may be in the hook of a
// queue that another destroys, and there are few.
#pragma once

#include <hsa/hsa.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "agent/pending.h"
#include "agent/signal_pool.h"

namespace rochound::agent {

class SpinLock {
 public:
  void lock() {
    while (flag_.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  bool try_lock() { return !flag_.test_and_set(std::memory_order_acquire); }
  void unlock() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

using StoreFunction = decltype(hsa_signal_store_screlease)*;

struct Queue {
  hsa_queue_t* queue = nullptr;
  std::atomic<uint64_t> doorbell{0};  // handle; 0: the queue was destroyed
  uint32_t index = 0;
  uint16_t agent = 0;

  SpinLock submitting;            // guards what the hook changes, down to `wanted`
  std::atomic<uint64_t> next{0};  // first packet that has not been looked at
  uint64_t rung = 0;              // real doorbell: packets handed to the GPU, as a count
  uint64_t wanted = 0;  // what the program rang for, as a count; more than rung: late packets
  uint64_t late_since_tsc = 0;  // since when
  SignalBatch lent;             // to be lent next

  // Dispatches under way, oldest first: the hook appends, the harvest takes from the front.
  std::unique_ptr<Pending[]> pending;
  uint64_t pending_mask = 0;
  std::atomic<uint64_t> pending_head{0};
  std::atomic<uint64_t> pending_tail{0};
  std::atomic<uint64_t> last_end_ticks{0};
  SpinLock harvesting;

  hsa_kernel_dispatch_packet_t* Packet(uint64_t at) const {
    return static_cast<hsa_kernel_dispatch_packet_t*>(queue->base_address) +
           (at & (queue->size - 1));
  }
};

// A dispatch's number in the log is made of its queue and its place there.
inline uint64_t DispatchNumber(const Queue& queue, uint64_t packet) {
  return static_cast<uint64_t>(queue.index) << 48 | packet;
}
inline uint64_t PacketIndex(const Pending& dispatch) { return dispatch.id & ((1ull << 48) - 1); }

// Writes the times of what has finished; returns how many dispatches are left. `wait`: also if
// another thread is at it.
size_t HarvestQueue(Queue& queue, bool wait = false);

void ForEachQueue(const std::function<void(Queue&)>& function);

}  // namespace rochound::agent
