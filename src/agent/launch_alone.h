// SPDX-License-Identifier: MIT
//
// Runs one launch with nothing else under way on its GPU, so that memory can be looked at before
// and after. On the thread that rang the doorbell, which holds its queue's lock; for that time the
// doorbells of the GPU's other queues wait. Never for long: what does not become quiet, or does
// not end, is left alone, and the program goes on.
//
//   this queue:    earlier packets finish
//   other queues:  locked; running kernels finish. One that stands at a barrier waits for
//                  something, perhaps for this launch, and counts as quiet
//   copies:        finish, or stand noted
//   before()       memory is read; done again if another queue moved meanwhile
//   the launch:    with a completion signal of ours; the program's fires only after
//   after()        memory is read again
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <functional>
#include <string>

#include "agent/queue.h"

namespace rochound::agent {

struct LaunchWatch {
  // Memory as the launch will find it. False: leave it. May be called again.
  std::function<bool()> before;
  // The packet is as the GPU will see it; for whoever notes dispatches.
  std::function<void()> noted;
  // The launch is over and took so long (0: not known).
  std::function<void(uint64_t nanoseconds)> after;
  // Something a reader of the capture has to know.
  std::function<void(std::string)> remark;
};

struct LaunchOutcome {
  bool launched = false;  // the packet was handed to the GPU; otherwise it still has to be
  std::string problem;    // empty: before and after were both called
};

// The packet at index `at`, everything before it having been rung for.
LaunchOutcome LaunchAlone(Queue& queue, uint64_t at, hsa_signal_t doorbell, StoreFunction store,
                          const LaunchWatch& watch);

// The drain thread: completes the program's signals of launches that took longer than we waited.
bool ServeLateLaunches();

}  // namespace rochound::agent
