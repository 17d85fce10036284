// SPDX-License-Identifier: MIT
//
// Copies that HIP does with a kernel of its own instead of a copy engine: small ones, those within
// a GPU, those of graphs. What they move is in the kernel's arguments. Called where a dispatch
// is recorded, on the program's threads and with the queue's lock held; reads memory that the
// program's runtime has just written, and nothing else.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <string_view>

#include "agent/thread_state.h"

namespace rochound::agent {

// A kernel of the runtime's that copies, as far as its arguments are known. Others fill, and write
// to nothing but what their arguments point to.
enum class CopyKernel : uint8_t { kNone, kLinear, kRectangle, kOtherOfRuntime };

CopyKernel CopyKernelOf(std::string_view name, uint64_t kernarg_bytes);

// Where a linear copy goes. False: its arguments are not those that we know.
bool CopiesTo(const hsa_kernel_dispatch_packet_t& packet, uint64_t* destination, uint64_t* bytes);

// Writes what the dispatch copies, before the record of the dispatch itself.
void RecordBlitCopy(ThreadState* thread, CopyKernel kernel,
                    const hsa_kernel_dispatch_packet_t& packet, uint16_t gpu, uint64_t dispatch,
                    uint64_t now_tsc);

}  // namespace rochound::agent
