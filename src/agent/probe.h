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
#include <string_view>
#include <vector>

#include "agent/blit_copies.h"
#include "agent/state.h"

namespace rochound::agent {

namespace internal {
extern std::atomic<bool> probe_requested;
extern std::atomic<bool> probe_watches_writes;
}  // namespace internal

// Whether everything that writes memory is to be told, so that packets have to be looked at.
inline bool ProbeWatchesWrites() {
  return internal::probe_watches_writes.load(std::memory_order_relaxed) &&
         CurrentState() != State::kDisabled;
}

inline bool ProbeRequested() { return internal::probe_requested.load(std::memory_order_relaxed); }

// Reads the wish; at set-up, before the runtime is hooked.
void PrepareProbe();
void HookProbe(CoreApiTable* core);

// An executable that the agent itself has frozen.
void ConnectProbe(hsa_executable_t executable);

// Writes what is in the ring. True: something was there, and more may come soon.
bool DrainProbe();

// An allocation is there; is about to go. Whoever calls holds no list of allocations.
// on_gpu: memory of a GPU's own, which only GPUs and copies write.
void ProbeMemoryAppears(uint64_t base, uint64_t size, bool mapped, bool on_gpu);
void ProbeMemoryGoes(uint64_t base);

// For who watches writes. A copy or fill was asked for; bytes 0: somewhere in that allocation.
void ProbeMemoryWritten(uint64_t base, uint64_t bytes);
void ProbeMemoryCopied(uint64_t to, uint64_t from, uint64_t bytes);
// A kernel is about to be launched: one without probes may write.
void ProbeSeesDispatch(const hsa_kernel_dispatch_packet_t& packet, CopyKernel copies);

// For kernels of other makers. A record in the file, which is made if need be; zeroed host memory
// that GPUs see, until the runtime ends (null: none).
void ProbeRecord(uint64_t kind, const std::vector<uint64_t>& numbers, std::string_view text);
void* ProbeMemory(uint64_t bytes);

enum class ProbeEnd { kExit = 1, kFault = 2, kShutDown = 3, kDisabled = 4 };
// What can still be read is, also after messages that were never finished, and how much was lost
// is written down. After all but kExit no more messages are taken.
void EndProbe(ProbeEnd why);

// In a forked child: ring and file are the parent's.
void ForgetProbeAfterFork();

}  // namespace rochound::agent
