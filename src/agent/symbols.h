// SPDX-License-Identifier: MIT
//
// Names of kernels. Whoever wants to launch a kernel has to ask the runtime for its kernel object;
// we listen to that question. Any thread.
#pragma once

#include <hsa/hsa_api_trace.h>

#include <cstdint>
#include <string_view>

#include "agent/blit_copies.h"

namespace rochound::agent {

void HookSymbols(CoreApiTable* core);

// The kernel symbol id of a kernel object; an object nobody asked about gets an id and a made-up
// name. Lock-free for known objects.
uint32_t KernelId(uint64_t kernel_object, uint16_t agent, CopyKernel* copies = nullptr);
bool IsKnownKernel(uint64_t kernel_object);

// The id of a kernel that we loaded ourselves; name: without .kd.
uint32_t AddKernel(uint64_t kernel_object, std::string_view name, hsa_executable_t executable,
                   uint16_t agent, uint64_t kernarg_bytes);

// The executable's handle is another one's now: its kernels are of another code object.
void ForgetExecutable(hsa_executable_t executable);

// Writes the records that describe the kernels once more, for a log that drops old chunks.
void RecordSymbols();

// In a forked child: what another thread of the parent held or was changing is made anew.
void ForgetSymbolsAfterFork();

}  // namespace rochound::agent
