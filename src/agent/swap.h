// SPDX-License-Identifier: MIT
//
// Swaps kernels of the program for those of a kernel cache (`rochound run --kernel-cache`). What
// the cache holds is in a list that `rochound run` writes and goes on writing
// (codeobj/cache_list.h).
//
//   program asks for a kernel object  -> candidates of that symbol are compared (codeobj/swap.h).
//                                        One that fits is loaded on the same GPU
//   program rings a doorbell          -> its packets get the candidate's kernel object and sizes;
//                                        with --swap-verify, a few launches of each original are
//                                        captured instead, for `rochound run` to compare
//   the list grows (drain thread)     -> kernels that are known already are decided about again
//
// Each decision is a record in the log. Threads: as said; a mutex guards decisions, packets are
// edited without one, under their queue's lock. Whatever fails leaves the program's own kernel.
#pragma once

#include <hsa/hsa.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "agent/launch_alone.h"
#include "agent/queue.h"
#include "agent/state.h"

namespace rochound::agent {

namespace internal {
extern std::atomic<bool> swap_requested;
}

// Packets are to be looked at also while nothing is recorded.
inline bool SwapRequested() {
  return internal::swap_requested.load(std::memory_order_relaxed) &&
         CurrentState() != State::kDisabled;
}

// Reads the wish; at set-up, before the runtime is hooked.
void PrepareSwap();

// Whether a code object that is being loaded has a kernel that could be swapped, so that its bytes
// are worth keeping.
bool SwapMayNeed(std::string_view object);

// The program asked for this kernel; it has this id in the log.
void SwapLearnsKernel(uint32_t id, uint64_t kernel_object, std::string_view symbol, uint16_t agent);

// Whether launches are to be captured, so that packets have to be held at the doorbell.
bool SwapVerifies();

// A launch that is to be captured.
struct SwapSample {
  struct Swap* swap = nullptr;
  uint64_t launch = 0;  // which of the kernel's, from 1
};

// Puts the candidate into a dispatch packet, if its kernel has one. With the queue's lock held.
// sample: may ask for the launch to be captured, by leaving it as it is and naming it there;
// CaptureSample has to follow. Null: it cannot be captured.
void SwapPacket(const Queue& queue, hsa_kernel_dispatch_packet_t* packet, SwapSample* sample);

// Captures the launch, everything before it having been rung for. If it was not launched, it is one
// like others.
LaunchOutcome CaptureSample(const SwapSample& sample, Queue& queue, uint64_t at,
                            hsa_signal_t doorbell, StoreFunction store, LaunchNote note);

// At the end of the program, or of the runtime: which launches the GPU took too early to capture
// them, and no later one made up for.
void ExplainMissingSamples();

// The drain thread: what was added to the cache meanwhile.
void LookForCandidates();

// Writes the records of all decisions once more, for a log that drops old chunks.
void RecordSwaps();

// The runtime is about to go, and with it everything that was loaded.
void ForgetSwaps();
// In a forked child: what another thread of the parent held or was changing is made anew.
void ForgetSwapsAfterFork();

}  // namespace rochound::agent
