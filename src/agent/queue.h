// SPDX-License-Identifier: MIT
//
// What is known about one queue of the program. Shared by the files that follow queues; queues.h
// is what everybody else sees. Queue objects are never freed, since a thread may be in the hook of a
// queue that another destroys: a later queue gets them. Whoever takes `submitting` finds by the
// doorbell whether it is still the same queue. The room for its dispatches goes with the queue.
#pragma once

#include <hsa/hsa.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "agent/pending.h"
#include "agent/signal_pool.h"
#include "agent/spin_lock.h"
#include "base/thread_annotations.h"
#include "trace/records.h"

namespace rochound::agent {

using StoreFunction = decltype(hsa_signal_store_screlease)*;

struct Queue {
  hsa_queue_t* queue = nullptr;
  std::atomic<uint64_t> doorbell{0};  // handle; 0: the queue was destroyed
  uint64_t hsa_id = 0;
  uint32_t packets = 0;
  uint32_t index = 0;
  uint16_t agent = 0;
  uint32_t place = 0;  // in the table of doorbells
  // The runtime shows us each packet, so the doorbell need not be watched.
  std::atomic<bool> shown{false};
  // The GPU reported a fault of it, or of its process: nothing on it will end any more.
  std::atomic<bool> failed{false};

  SpinLock submitting;            // who looks at packets and rings for them
  std::atomic<uint64_t> next{0};  // first packet that has not been looked at
  // Real doorbell: packets handed to the GPU, as a count.
  uint64_t rung ROCHOUND_GUARDED_BY(submitting) = 0;
  // What the program rang for, as a count; more than rung: late packets.
  uint64_t wanted ROCHOUND_GUARDED_BY(submitting) = 0;
  uint64_t late_since_tsc ROCHOUND_GUARDED_BY(submitting) = 0;  // since when
  // The packet at `next` is held for a capture: nobody steps over it.
  bool holds_next ROCHOUND_GUARDED_BY(submitting) = false;
  // Packets from here on were not in the ring when last looked at.
  uint64_t room_end ROCHOUND_GUARDED_BY(submitting) = 0;
  SignalBatch lent ROCHOUND_GUARDED_BY(submitting);  // to be lent next
  // By place in the ring: the signal of ours that was put there last. A program that fills its ring
  // once and later writes only headers leaves it there. Packets from `lent_end` on have none.
  std::unique_ptr<uint64_t[]> lent_in ROCHOUND_GUARDED_BY(submitting);
  uint64_t lent_end ROCHOUND_GUARDED_BY(submitting) = 0;
  // The last packet with the barrier bit that was looked at, as a count: once the read index has
  // come so far, all kernels before it have ended, though their completions may be on their way.
  std::atomic<uint64_t> barrier{0};

  // Dispatches in flight, oldest first: the hook appends, the harvest takes from the front.
  std::unique_ptr<Pending[]> pending;
  uint64_t pending_mask = 0;
  std::atomic<uint64_t> pending_head{0};
  std::atomic<uint64_t> pending_tail{0};
  std::atomic<uint64_t> last_end_ticks{0};
  // Kernels before this packet have ended, whether their completions were seen or not.
  std::atomic<uint64_t> ended_before{0};
  // Who takes entries of `pending`. It also keeps the queue from being destroyed.
  SpinLock harvesting;
  uint64_t stuck_head ROCHOUND_GUARDED_BY(harvesting) = 0;
  uint64_t looked_at_all_tsc ROCHOUND_GUARDED_BY(harvesting) = 0;
  // A packet with the barrier bit after the oldest dispatch that waits, as a count, and since when
  // (CLOCK_MONOTONIC) the read index is known to have passed it; 0: not yet.
  uint64_t watched_barrier ROCHOUND_GUARDED_BY(harvesting) = 0;
  uint64_t barrier_passed_ns ROCHOUND_GUARDED_BY(harvesting) = 0;

  // How far the queue had come when it was last looked at, and since when it has come no further.
  uint64_t seen_read ROCHOUND_GUARDED_BY(submitting) = 0;
  uint64_t seen_head ROCHOUND_GUARDED_BY(submitting) = 0;
  std::atomic<uint64_t> front_since_ns{0};  // CLOCK_MONOTONIC; 0: nothing is in flight

  Queue* next_unused = nullptr;  // of queue_list.h

  hsa_kernel_dispatch_packet_t* Packet(uint64_t at) const {
    return static_cast<hsa_kernel_dispatch_packet_t*>(queue->base_address) + (at & (packets - 1));
  }

  // The queue is about to be destroyed, in a handler that interrupted our code: nobody looks at its
  // memory after this. What waits on it, and what this thread holds, is left as it is.
  void LeaveInterrupted() {
    doorbell.store(0);
    submitting.WaitUntilFree();  // who looked has finished
    harvesting.WaitUntilFree();
  }
};

inline uint64_t PacketIndex(const Pending& dispatch) { return trace::PacketOf(dispatch.id); }

enum class Harvest {
  kSome,          // not if another thread is at it
  kAll,           // waits for another thread
  kGiveUpOldest,  // and gives up on the oldest dispatch, to make room
};

// Writes the times of what has finished; returns how many dispatches are left.
size_t HarvestQueue(Queue& queue, Harvest how = Harvest::kSome);

// Queues that are there, or were a moment ago (doorbell 0). None gets another queue's place
// meanwhile.
void ForEachQueue(const std::function<void(Queue&)>& function);

}  // namespace rochound::agent
