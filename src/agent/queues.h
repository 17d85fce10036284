// SPDX-License-Identifier: MIT
//
// Kernel dispatches, seen when a program rings a queue's doorbell. The hook looks at the packets
// the doorbell covers, in the program's own ring, before the GPU may: it notes each dispatch in the
// log and lends a signal of ours to packets that have none, so that the GPU leaves its time stamps
// there. A packet with a signal of the program's keeps it, and its time stamps are read from it,
// at the latest when the program is about to reuse or destroy the signal. Nothing is replaced,
// added or reordered; without us the queue goes on as it is. docs/decisions/recorder-dispatches.md
// says what else was tried.
//
// Threads: the hooks run on the program's, Harvest on the drain thread; both may run at once.
#pragma once

#include <hsa/hsa_api_trace.h>

#include <cstddef>

namespace rochound::agent {

// Puts the hooks of this file into the tables.
void HookQueues(CoreApiTable* core, AmdExtTable* amd);

// Writes the times of all dispatches that have finished. Returns how many are still in flight.
size_t HarvestDispatches();

// A doorbell that waits for a packet another thread has yet to write; true while there are any.
bool ServeLateDoorbells();
// Rings for everything that the program rang for, looked at or not: the last thing that the drain
// thread does, since nobody serves late doorbells after it. True: a queue was in use, and has to be
// looked at again. Needs no memory.
bool RingHeldDoorbells();

// Destroys our signals that are not lent; the runtime complains at its end about those left.
void GiveBackSignals();

// The runtime is about to go: give back every signal, forget every queue.
void ForgetQueues();

// In a forked child: the runtime and its queues are the parent's.
void ForgetQueuesAfterFork();

// Writes the records that describe the queues once more, for a log that drops old chunks.
void RecordQueues();

}  // namespace rochound::agent
