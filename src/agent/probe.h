// SPDX-License-Identifier: MIT
//
// The agent's part of `rochound probe`: listens to instrumented kernels (src/probe).
//
//   program freezes an executable  -> the module variable of the probes is told where the ring is
//   drain thread, flush, exit      -> what the GPU has written goes from the ring to a file, and
//                                     the arguments of each dispatch that is new there
//   memory is allocated, or freed  -> is written down between the messages before and after
//
// The ring is host memory that all GPUs may write, made with the first instrumented code object. A
// file that cannot be written costs messages, which are counted, and nothing else: the ring is
// emptied all the same, so that no wave waits for us. If the agent steps aside, the ring is closed,
// and kernels go on without a message. Any thread; a mutex guards everything.
#pragma once

#include <hsa/hsa_api_trace.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rochound::agent {

namespace internal {
extern std::atomic<bool> probe_asked;
}

inline bool ProbeAsked() { return internal::probe_asked.load(std::memory_order_relaxed); }

// Reads the wish; at set-up, before the runtime is hooked.
void PrepareProbe();
void HookProbe(CoreApiTable* core);

// An executable that the agent itself has frozen.
void ConnectProbe(hsa_executable_t executable);

// Writes what is in the ring. True: something was there, and more may come soon.
bool DrainProbe();

// An allocation is there; is about to go. Whoever calls holds no list of allocations.
void ProbeMemoryAppears(uint64_t base, uint64_t size, bool mapped);
void ProbeMemoryGoes(uint64_t base);

enum class ProbeEnd { kExit = 1, kFault = 2, kShutDown = 3, kDisabled = 4 };
// What can still be read is, also behind messages that were never finished, and how much was lost
// is written down. After all but kExit no more messages are taken.
void EndProbe(ProbeEnd why);

// In a forked child: ring and file are the parent's.
void ForgetProbeAfterFork();

}  // namespace rochound::agent
