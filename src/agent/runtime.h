// SPDX-License-Identifier: MIT
//
// The HSA runtime underneath us: its own functions as they were before we hooked them, and its
// agents. Filled when the runtime hands us its table, emptied when it shuts down; between the two
// any thread may read.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>

namespace rochound::agent {

struct Runtime {
  CoreApiTable core;
  AmdExtTable amd;
};

// The runtime's own functions. Entries that this runtime does not have are null.
const Runtime& Real();

// True while the runtime whose table we took lives.
bool RuntimeAlive();

// Who hands us the table, which decides how we learn of the runtime's end.
enum class TableFrom {
  kTools,     // HSA_TOOLS_LIB: OnUnload will be called
  kRegister,  // rocprofiler-register: nobody will tell; the last hsa_shut_down is the end
};

// Takes the table: keeps the originals, lists the agents, installs the hooks. Once per runtime
// life, however many hand it to us.
void TakeTable(HsaApiTable* table, TableFrom from);
void RuntimeShutsDown();

inline constexpr uint16_t kMostAgents = 256;

// Index of an agent in the info file, or trace::kNoAgent.
uint16_t AgentIndex(hsa_agent_t agent);
hsa_agent_t AgentHandle(uint16_t index);
uint16_t AgentCount();
bool IsGpu(uint16_t index);
// The first agent that is no GPU, or trace::kNoAgent.
uint16_t HostAgent();
// The agent whose memory a pool is, or trace::kNoAgent. Regions have their pool's handle.
uint16_t PoolOwner(uint64_t pool);
uint32_t ComputeUnits(uint16_t index);  // as noted at the start; asks nobody

// In a forked child: what another thread of the parent held or was changing is made anew.
void ForgetRuntimeAfterFork();

}  // namespace rochound::agent
