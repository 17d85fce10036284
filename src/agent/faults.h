// SPDX-License-Identifier: MIT
//
// What was going on when a GPU failed: a memory fault or a queue's error. Written as the file
// "fault.json" into the process's log, with the code objects of the kernels in flight and the
// memory that they lead to beside it, for `rochound doctor --fault`. We are told on a thread of the
// runtime's, before it goes on as it would without us: its message, its abort, the program's own
// handlers. Once per process. The drain thread looks for queues that come no further: "hang.json",
// which is emptied when they do. "now.json" is written for whoever asks what is in flight.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rochound::agent {

// Asks the runtime to tell us of memory faults.
void ListenForFaults();

// A queue's error callback of ours, which passes on to the program's.
using QueueCallback = void (*)(hsa_status_t, hsa_queue_t*, void*);
struct QueueListener {
  QueueCallback program;
  void* data;
};
void OnQueueError(hsa_status_t status, hsa_queue_t* queue, void* listener);

// Looks for queues that have come no further for too long, and for those that have again: their
// work was only slow. The drain thread, and any thread at the end.
void WatchProgress(uint64_t now_ns);

// The process ends, and the runtime's memory may go without a word: queues are not looked at any
// more. Once it returns nobody does.
void StopWatchingProgress();

// What has been first in its queue for at least so long. The control thread.
struct InFlightWork {
  uint16_t gpu;  // among the GPUs of this process
  uint32_t queue;
  uint64_t ns;
  std::string kernel;  // empty: a packet that is no kernel
};
std::vector<InFlightWork> WorkInFlightFor(uint64_t least_ns);

// Writes down everything that is in flight, as "now.json". The control thread.
bool DescribeInFlight();

}  // namespace rochound::agent
