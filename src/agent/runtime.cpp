// SPDX-License-Identifier: MIT
#include "agent/runtime.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

#include "agent/allocations.h"
#include "agent/anchors.h"
#include "agent/calls.h"
#include "agent/calls/hsa_tables.h"
#include "agent/calls/libraries.h"
#include "agent/capture.h"
#include "agent/code_objects.h"
#include "agent/copies.h"
#include "agent/faults.h"
#include "agent/override.h"
#include "agent/probe.h"
#include "agent/queues.h"
#include "agent/session.h"
#include "agent/state.h"
#include "agent/swap.h"
#include "agent/symbols.h"

namespace rochound::agent {
namespace {

constinit std::atomic<bool> alive{false};
Runtime real;  // written before `alive`, and before any hook is in place

struct Agent {
  hsa_agent_t handle;
  bool gpu;
  uint32_t compute_units;
};
Agent agents[kMostAgents];
constinit std::atomic<uint16_t> agent_count{0};

struct Pool {
  uint64_t handle;
  uint16_t agent;
};
constexpr size_t kMostPools = 8 * kMostAgents;
Pool pools[kMostPools];
constinit std::atomic<size_t> pool_count{0};

std::string AgentText(hsa_agent_t agent, hsa_agent_info_t what) {
  char text[65] = {};
  if (real.core.hsa_agent_get_info_fn(agent, what, text) != HSA_STATUS_SUCCESS) return {};
  std::string clean(text, strnlen(text, 64));
  std::replace_if(clean.begin(), clean.end(), [](char c) { return c == ',' || c == '\n'; }, ' ');
  return clean;
}

// Called by the runtime.
hsa_status_t VisitPool(hsa_amd_memory_pool_t pool, void* data) {
  const size_t count = pool_count.load(std::memory_order_relaxed);
  if (count == kMostPools) return HSA_STATUS_INFO_BREAK;
  pools[count] = {pool.handle, *static_cast<const uint16_t*>(data)};
  pool_count.store(count + 1, std::memory_order_release);
  return HSA_STATUS_SUCCESS;
}

void AddAgent(hsa_agent_t agent) {
  const uint16_t index = agent_count.load(std::memory_order_relaxed);
  if (index == kMostAgents) return;
  hsa_device_type_t type = HSA_DEVICE_TYPE_CPU;
  real.core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_DEVICE, &type);
  uint32_t node = 0;
  real.core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_NODE, &node);
  uint32_t compute_units = 0;
  real.core.hsa_agent_get_info_fn(
      agent, static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT), &compute_units);
  agents[index] = {agent, type == HSA_DEVICE_TYPE_GPU, compute_units};
  agent_count.store(index + 1, std::memory_order_release);
  uint16_t owner = index;
  if (real.amd.hsa_amd_agent_iterate_memory_pools_fn != nullptr)
    real.amd.hsa_amd_agent_iterate_memory_pools_fn(agent, VisitPool, &owner);
  const auto extra = [](int what) { return static_cast<hsa_agent_info_t>(what); };
  AddInfo("agent", std::to_string(index) + "," + std::to_string(node) + "," +
                       (agents[index].gpu ? "gpu" : "cpu") + "," +
                       AgentText(agent, HSA_AGENT_INFO_NAME) + "," +
                       AgentText(agent, extra(HSA_AMD_AGENT_INFO_PRODUCT_NAME)) + "," +
                       AgentText(agent, extra(HSA_AMD_AGENT_INFO_UUID)));
}

// Called by the runtime, which an exception of ours must not pass through.
hsa_status_t VisitAgent(hsa_agent_t agent, void*) {
  Guarded("no memory for the agents", [&] { AddAgent(agent); });
  return HSA_STATUS_SUCCESS;
}

// The runtime counts its hsa_init calls and destroys no signal any more once the last is answered,
// so ours have to go before. A count that is wrong (calls before we were loaded) costs nothing:
// signals that go early are made anew.
constinit std::atomic<int> references{0};
constinit std::atomic<bool> will_be_unloaded{false};

hsa_status_t Init() {
  const hsa_status_t status = real.core.hsa_init_fn();
  if (status == HSA_STATUS_SUCCESS) references.fetch_add(1);
  return status;
}

hsa_status_t ShutDown() {
  if (references.fetch_sub(1) == 1 && alive.load()) {
    if (!IsBusy()) {
      Flush();
      Guarded("no memory at shut-down", GiveBackSignals);
    }
    if (!will_be_unloaded.load()) RuntimeShutsDown();
  }
  return real.core.hsa_shut_down_fn();
}

}  // namespace

const Runtime& Real() { return real; }
bool RuntimeAlive() { return alive.load(std::memory_order_acquire); }

void TakeTable(HsaApiTable* table, TableFrom from) {
  if (from == TableFrom::kTools) will_be_unloaded.store(true);
  if (alive.load() || table == nullptr || table->core_ == nullptr || table->amd_ext_ == nullptr)
    return;
  static auto* const tables = new HsaTables;  // outlives static destructors
  if (!tables->Read(table))
    return Disable("this ROCr's tables of functions could not be read: it is newer than rochound");
  HsaApiTable* const ours = tables->ours();
  real.core = *ours->core_;
  real.amd = *ours->amd_ext_;
  if (!tables->library().empty()) {
    DropInfo("hsa_version");
    AddInfo("hsa_version", VersionOf(tables->library()));
  }
  agent_count.store(0);
  pool_count.store(0);
  DropInfo("agent");  // of an earlier life of the runtime
  real.core.hsa_iterate_agents_fn(VisitAgent, nullptr);
  WriteInfo();
  real.amd.hsa_amd_profiling_async_copy_enable_fn(true);
  alive.store(true, std::memory_order_release);
  if (CurrentState() == State::kDisabled) return;
  RecordAnchors();
  references.store(1);
  ours->core_->hsa_init_fn = Init;
  ours->core_->hsa_shut_down_fn = ShutDown;
  HookQueues(ours->core_, ours->amd_ext_);
  HookCopies(ours->core_, ours->amd_ext_);
  HookSymbols(ours->core_);
  ListenForFaults();
  HookOverrides(ours->core_);
  HookAllocations(ours->amd_ext_);
  HookCodeObjects(ours->core_);
  HookProbe(ours->core_);
  HookCalls(ours);
  tables->WriteBack();
}

void RuntimeShutsDown() {
  if (!alive.load()) return;
  // In a handler that interrupted us, what it holds stays as it is.
  const bool interrupted = IsBusy();
  if (!interrupted) Flush();
  Guarded("no memory at shut-down", [&] {
    WithoutDrainThread([&] {
      if (!interrupted) {
        EndProbe(ProbeEnd::kShutDown);
        ForgetCopies();
        ForgetQueues();
        ForgetSwaps();
        ForgetAllocations();
      }
      alive.store(false, std::memory_order_release);
    });
  });
  will_be_unloaded.store(false);
}

uint16_t AgentIndex(hsa_agent_t agent) {
  const uint16_t count = agent_count.load(std::memory_order_acquire);
  for (uint16_t index = 0; index < count; ++index)
    if (agents[index].handle.handle == agent.handle) return index;
  return trace::kNoAgent;
}

hsa_agent_t AgentHandle(uint16_t index) { return agents[index].handle; }
uint16_t AgentCount() { return agent_count.load(std::memory_order_acquire); }
bool IsGpu(uint16_t index) { return index < AgentCount() && agents[index].gpu; }
uint32_t ComputeUnits(uint16_t index) {
  return index < AgentCount() ? agents[index].compute_units : 0;
}

uint16_t HostAgent() {
  for (uint16_t index = 0; index < AgentCount(); ++index)
    if (!agents[index].gpu) return index;
  return trace::kNoAgent;
}

uint16_t PoolOwner(uint64_t pool) {
  const size_t count = pool_count.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i)
    if (pools[i].handle == pool) return pools[i].agent;
  return trace::kNoAgent;
}

void ForgetRuntimeAfterFork() {
  alive.store(false);
  references.store(0);
}

}  // namespace rochound::agent
