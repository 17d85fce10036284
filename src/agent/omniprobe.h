// SPDX-License-Identifier: MIT
//
// Runs kernels that omniprobe's plugin has instrumented (codeobj/omniprobe.h): arguments with one
// more pointer for each launch, and what that pointer leads to, dh_comms' buffers, in host memory.
//
//   doorbell       -> a copy of the launch's arguments, in memory that belongs to its queue's slot
//   drain thread   -> buffers that a wave has handed over are emptied into the probes' file, and
//                     handed back
//   exit           -> so is what is left in all of them
//
// One descriptor per kernel: the messages do not say which dispatch they are of. A mutex guards
// everything. Whatever fails leaves the program's own kernel.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <string>

#include "agent/queue.h"
#include "codeobj/swap.h"

namespace rochound::agent {

// For messages of a kernel; 0: there is no room, or nobody listens.
uint64_t MakeOmniprobeDescriptor(const std::string& symbol, uint16_t agent);

// The arguments for this packet's launch; null: the program's cannot be read, or there is no room.
// With the queue's lock held.
void* MakeOmniprobeArguments(const Queue& queue, const hsa_kernel_dispatch_packet_t& packet,
                             const codeobj::SwapPlan& plan, const codeobj::SwapLaunch& launch,
                             uint64_t descriptor);

// Empties buffers that waves wait for; finally: all. True: there was something.
bool DrainOmniprobe(bool finally);

// The runtime takes its memory back.
void ForgetOmniprobe();
void ForgetOmniprobeAfterFork();

}  // namespace rochound::agent
