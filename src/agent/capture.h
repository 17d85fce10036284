// SPDX-License-Identifier: MIT
//
// Keeps one launch of a kernel as a bundle on disk: `rochound capture` chooses it through the
// environment (ROCHOUND_CAPTURE_*), the doorbell's hook asks about every dispatch, and the chosen
// one runs alone with its memory read before and after. Once per process; whatever goes wrong is
// said in the log's file "capture", and the program goes on. Others may have a launch kept as well
// (CaptureLaunch): swap.h, to compare a candidate with it.
#pragma once

#include <hsa/hsa.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/launch_alone.h"
#include "agent/queue.h"

namespace rochound::agent {

namespace internal {
extern std::atomic<bool> capture_requested;
}

// A launch is to be captured and has not been yet: until then allocations, code objects and
// kernels are remembered.
inline bool CaptureRequested() {
  return internal::capture_requested.load(std::memory_order_relaxed);
}

// Reads the wish; once, at set-up, before the runtime is hooked.
void PrepareCapture();

// A kernel got its id.
void CaptureLearnsKernel(uint32_t id, std::string_view symbol, uint64_t kernarg_bytes);

// Called for each dispatch, in a queue's order: whether this is the one.
bool CaptureWants(uint32_t kernel, const hsa_kernel_dispatch_packet_t& packet);

// The same for one that the GPU took before it could be held: if this is the one, it is missed.
void CaptureMisses(uint32_t kernel, const hsa_kernel_dispatch_packet_t& packet);

// What is to be kept of a launch, and where.
struct CaptureOrder {
  std::string directory;  // the bundle
  bool all_memory = false;
  std::string symbol;
  uint64_t kernarg_bytes = 0;
  uint64_t dispatch = 0, match = 0;  // see capture::Launch
  bool keep_unfinished = false;      // keep it if it does not end, too: without an "after"
};

// Keeps this launch, everything before it having been rung for. `note` notes the dispatch in the
// log. *problem stays empty if the bundle is there. Not two at a time: each waits for the other's
// queue.
LaunchOutcome CaptureLaunch(const CaptureOrder& order, Queue& queue, uint64_t at,
                            hsa_signal_t doorbell, StoreFunction store, LaunchNote note,
                            std::string* problem);

// The chosen one.
LaunchOutcome Capture(Queue& queue, uint64_t at, hsa_signal_t doorbell, StoreFunction store,
                      LaunchNote note);

// A launch that failed, as far as its memory can still be read: a bundle without an "after". Empty:
// it is there; otherwise why not.
std::string CaptureFailedLaunch(const Queue& queue, hsa_kernel_dispatch_packet_t packet,
                                const std::string& symbol, uint64_t kernarg_bytes,
                                const std::string& directory);

// The process ends, and nothing was captured: leaves word why.
void ExplainMissingCapture();

// In a forked child: what another thread of the parent held or was changing is made anew.
void ForgetCaptureAfterFork();

}  // namespace rochound::agent
