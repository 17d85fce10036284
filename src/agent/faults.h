// SPDX-License-Identifier: MIT
//
// What was going on when a GPU failed: a memory fault, a queue's error, or no progress for a while.
// Written as the file "fault.json" into the process's log, with the code objects of the kernels
// that were under way beside it, for `rochound doctor --fault`. Memory faults and queue errors are
// told to us on a thread of the runtime's, before it goes on as it would without us: its message,
// its abort, the program's own handlers. The drain thread looks for hangs. Once per process.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>

#include <cstddef>
#include <cstdint>

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

// The drain thread: how many pieces of work have ever finished, and how many are under way.
void WatchProgress(uint64_t now_ns, size_t under_way);

}  // namespace rochound::agent
