// SPDX-License-Identifier: MIT
//
// Copies that HIP does with a kernel of its own instead of a copy engine: small ones, those within
// a GPU, those of graphs. What they move is in the kernel's arguments. Called where a dispatch
// is recorded, on the program's threads and with the queue's lock held; reads memory that the
// program's runtime has just written, and nothing else.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "agent/thread_state.h"

namespace rochound::agent {

// A kernel of the runtime's that copies, as far as its arguments are known. Others, such as those
// that fill, write to nothing but what their arguments point to.
enum class CopyKernel : uint8_t { kNone, kLinear, kRectangle, kOtherOfRuntime };

CopyKernel CopyKernelOf(std::string_view name, uint64_t kernarg_bytes);

struct BlitCopy {
  uint64_t source = 0, destination = 0, bytes = 0;
};

// What a linear copy moves. False: its arguments are not those that we know.
bool CopiesTo(const hsa_kernel_dispatch_packet_t& packet, BlitCopy* copy);

// What a fill writes, by its arguments as words. False: they are not those that we know.
bool FillsBytes(std::span<const uint64_t> arguments, uint64_t* destination, uint64_t* bytes);

// Writes what the dispatch copies, before the record of the dispatch itself.
void RecordBlitCopy(ThreadState* thread, CopyKernel kernel,
                    const hsa_kernel_dispatch_packet_t& packet, uint16_t gpu, uint64_t dispatch,
                    uint64_t now_tsc);

}  // namespace rochound::agent
