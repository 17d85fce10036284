// SPDX-License-Identifier: MIT
//
// Copies, fills, allocations and frees that go through the HSA runtime. The hooks run on the
// program's threads; Harvest on the drain thread.
#pragma once

#include <hsa/hsa_api_trace.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rochound::agent {

void HookCopies(CoreApiTable* core, AmdExtTable* amd);

// Writes the times of all copies that have finished. Returns how many are still in flight.
size_t HarvestCopies();

// The signals that copies in flight complete.
std::vector<uint64_t> CopySignals();

// The runtime is about to go: what has not finished never will.
void ForgetCopies();

// In a forked child: what another thread of the parent held or was changing is made anew.
void ForgetCopiesAfterFork();

}  // namespace rochound::agent
