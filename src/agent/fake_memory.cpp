// SPDX-License-Identifier: MIT
#include "agent/fake_memory.h"

#include <hsa/amd_hsa_signal.h>
#include <sched.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace rochound::agent {
namespace {

constexpr hsa_agent_t kHost{1};
constexpr hsa_agent_t kFakeGpu{2};
constexpr uint64_t kAlignment = 4096;

struct Block {
  uint64_t size = 0;
  hsa_agent_t owner{};
};

base::Mutex blocks_lock;
using Blocks = std::map<uint64_t, Block>;
// Never destroyed: what a test leaves allocated is no leak.
Blocks& blocks = *new Blocks;
std::vector<Blocks>& forgotten = *new std::vector<Blocks>;

// With blocks_lock held; end(): none.
Blocks::iterator BlockOf(uint64_t address) {
  const auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return blocks.end();
  const auto found = std::prev(after);
  return address - found->first < found->second.size ? found : blocks.end();
}

hsa_status_t IteratePools(hsa_agent_t agent, hsa_status_t (*visit)(hsa_amd_memory_pool_t, void*),
                          void* data) {
  return visit(agent.handle == kHost.handle ? FakeMemory::kHostPool : FakeMemory::kGpuPool, data);
}

hsa_status_t PoolInfo(hsa_amd_memory_pool_t, hsa_amd_memory_pool_info_t what, void* value) {
  if (what == HSA_AMD_MEMORY_POOL_INFO_SEGMENT)
    *static_cast<hsa_amd_segment_t*>(value) = HSA_AMD_SEGMENT_GLOBAL;
  else if (what == HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED)
    *static_cast<bool*>(value) = true;
  else
    *static_cast<uint32_t*>(value) = 0;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t AllocateInPool(hsa_amd_memory_pool_t pool, size_t size, uint32_t, void** memory) {
  *memory = std::aligned_alloc(kAlignment, (size + kAlignment - 1) / kAlignment * kAlignment);
  const base::Lock lock(blocks_lock);
  const bool host = pool.handle == FakeMemory::kHostPool.handle;
  blocks[reinterpret_cast<uint64_t>(*memory)] = {size, host ? kHost : kFakeGpu};
  return HSA_STATUS_SUCCESS;
}

hsa_status_t FreeInPool(void* memory) {
  {
    const base::Lock lock(blocks_lock);
    blocks.erase(reinterpret_cast<uint64_t>(memory));
  }
  std::free(memory);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t PointerInfo(const void* pointer, hsa_amd_pointer_info_t* info, void* (*)(size_t),
                         uint32_t*, hsa_agent_t**) {
  const base::Lock lock(blocks_lock);
  info->type = HSA_EXT_POINTER_TYPE_UNKNOWN;
  const auto block = BlockOf(reinterpret_cast<uint64_t>(pointer));
  if (block == blocks.end()) return HSA_STATUS_SUCCESS;
  const bool host = block->second.owner.handle == kHost.handle;
  info->type = HSA_EXT_POINTER_TYPE_HSA;
  info->agentBaseAddress = reinterpret_cast<void*>(block->first);
  info->hostBaseAddress = host ? info->agentBaseAddress : nullptr;
  info->sizeInBytes = block->second.size;
  info->agentOwner = block->second.owner;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t CopyKnown(void* to, hsa_agent_t, const void* from, hsa_agent_t, size_t bytes, uint32_t,
                       const hsa_signal_t*, hsa_signal_t signal) {
  ++FakeMemory::copies;
  if (FakeMemory::on_copy && !FakeMemory::on_copy()) return HSA_STATUS_ERROR;
  const base::Lock lock(blocks_lock);
  const auto address = reinterpret_cast<uint64_t>(from);
  const auto block = BlockOf(address);
  if (block == blocks.end() || block->first + block->second.size - address < bytes) {
    ++FakeMemory::bad_copies;
    return HSA_STATUS_ERROR;
  }
  std::memcpy(to, from, bytes);
  __atomic_fetch_sub(&reinterpret_cast<amd_signal_t*>(signal.handle)->value, 1, __ATOMIC_ACQ_REL);
  return HSA_STATUS_SUCCESS;
}

hsa_signal_value_t WaitForSignal(hsa_signal_t signal, hsa_signal_condition_t, hsa_signal_value_t,
                                 uint64_t, hsa_wait_state_t) {
  sched_yield();
  return __atomic_load_n(&reinterpret_cast<amd_signal_t*>(signal.handle)->value, __ATOMIC_ACQUIRE);
}

hsa_status_t LockMemory(void* host, size_t, hsa_agent_t*, int, void** seen) {
  *seen = reinterpret_cast<void*>(reinterpret_cast<uint64_t>(host) + FakeMemory::kLockedAt);
  return HSA_STATUS_SUCCESS;
}

}  // namespace

std::atomic<int> FakeMemory::copies{0};
std::atomic<int> FakeMemory::bad_copies{0};
std::function<bool()> FakeMemory::on_copy;

void FakeMemory::Install(CoreApiTable* core, AmdExtTable* amd) {
  core->hsa_signal_wait_scacquire_fn = WaitForSignal;
  amd->hsa_amd_agent_iterate_memory_pools_fn = IteratePools;
  amd->hsa_amd_memory_pool_get_info_fn = PoolInfo;
  amd->hsa_amd_memory_pool_allocate_fn = AllocateInPool;
  amd->hsa_amd_memory_pool_free_fn = FreeInPool;
  amd->hsa_amd_agents_allow_access_fn = [](uint32_t, const hsa_agent_t*, const uint32_t*,
                                           const void*) { return HSA_STATUS_SUCCESS; };
  amd->hsa_amd_pointer_info_fn = PointerInfo;
  amd->hsa_amd_memory_async_copy_fn = CopyKnown;
  amd->hsa_amd_memory_lock_fn = LockMemory;
  amd->hsa_amd_memory_unlock_fn = [](void*) { return HSA_STATUS_SUCCESS; };
}

void FakeMemory::Add(uint64_t base, uint64_t size) {
  const base::Lock lock(blocks_lock);
  blocks[base] = {size, kFakeGpu};
}

void FakeMemory::ForgetAll() {
  const base::Lock lock(blocks_lock);
  forgotten.push_back(std::exchange(blocks, {}));
}

}  // namespace rochound::agent
