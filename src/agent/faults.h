// SPDX-License-Identifier: MIT
//
// What was going on when a GPU failed: a memory fault or a queue's error. Written as the file
// "fault.json" into the process's log, with the code objects of the kernels in flight and the
// memory that they lead to beside it, for `rochound doctor --fault`. We are told on a thread of the
// runtime's, before it goes on as it would without us: its message, its abort, the program's own
// handlers. Once per process. The drain thread looks for kernels that do not end: "hang.json",
// which is emptied when they do.
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

// All work has finished: what seemed not to end was only slow. Any thread.
void ForgetHang();

}  // namespace rochound::agent
