// SPDX-License-Identifier: MIT
//
// The layer below HIP, used directly: memory pools, pointer information, locking of the program's
// own memory, copies by hsa_amd_memory_async_copy with a signal, and fill.
// HSA calls are not counted; HIP is used only to show that both see the same device.

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "program.h"

namespace {

#define HSA_CHECKED(call)                                                         \
  do {                                                                            \
    const hsa_status_t status = (call);                                           \
    CHECK(status == HSA_STATUS_SUCCESS, "line %d: %s gave 0x%x", __LINE__, #call, \
          static_cast<unsigned>(status));                                         \
  } while (0)

struct Agents {
  hsa_agent_t cpu = {}, gpu = {};
};

hsa_status_t Classify(hsa_agent_t agent, void* data) {
  Agents* agents = static_cast<Agents*>(data);
  hsa_device_type_t type;
  HSA_CHECKED(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  if (type == HSA_DEVICE_TYPE_CPU && agents->cpu.handle == 0) agents->cpu = agent;
  if (type == HSA_DEVICE_TYPE_GPU && agents->gpu.handle == 0) agents->gpu = agent;
  return HSA_STATUS_SUCCESS;
}

// The first global pool in which the runtime may allocate.
hsa_status_t FirstPool(hsa_amd_memory_pool_t pool, void* data) {
  hsa_amd_segment_t segment;
  HSA_CHECKED(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
  bool allowed = false;
  HSA_CHECKED(
      hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allowed));
  if (segment != HSA_AMD_SEGMENT_GLOBAL || !allowed) return HSA_STATUS_SUCCESS;
  *static_cast<hsa_amd_memory_pool_t*>(data) = pool;
  return HSA_STATUS_INFO_BREAK;
}

void Copy(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, size_t bytes) {
  hsa_signal_t done;
  HSA_CHECKED(hsa_signal_create(1, 0, nullptr, &done));
  HSA_CHECKED(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, bytes, 0, nullptr, done));
  while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) > 0) {
  }
  CHECK(hsa_signal_load_relaxed(done) == 0, "the copy's signal is %ld",
        static_cast<long>(hsa_signal_load_relaxed(done)));
  HSA_CHECKED(hsa_signal_destroy(done));
}

}  // namespace

int main() {
  program::Begin("hsa_memory");
  HSA_CHECKED(hsa_init());
  Agents agents;
  HSA_CHECKED(hsa_iterate_agents(Classify, &agents));
  CHECK(agents.cpu.handle != 0 && agents.gpu.handle != 0, "no CPU or no GPU agent");
  hsa_amd_memory_pool_t cpu_pool = {}, gpu_pool = {};
  CHECK(
      hsa_amd_agent_iterate_memory_pools(agents.cpu, FirstPool, &cpu_pool) == HSA_STATUS_INFO_BREAK,
      "no CPU pool");
  CHECK(
      hsa_amd_agent_iterate_memory_pools(agents.gpu, FirstPool, &gpu_pool) == HSA_STATUS_INFO_BREAK,
      "no GPU pool");

  const size_t bytes = 1 << 20;
  unsigned *host = nullptr, *device = nullptr;
  HSA_CHECKED(hsa_amd_memory_pool_allocate(cpu_pool, bytes, 0, reinterpret_cast<void**>(&host)));
  HSA_CHECKED(hsa_amd_memory_pool_allocate(gpu_pool, bytes, 0, reinterpret_cast<void**>(&device)));
  HSA_CHECKED(hsa_amd_agents_allow_access(1, &agents.gpu, nullptr, host));

  hsa_amd_pointer_info_t info = {};
  info.size = sizeof(info);
  uint32_t accessible_count = 0;
  hsa_agent_t* accessible = nullptr;
  HSA_CHECKED(hsa_amd_pointer_info(device + 100, &info, malloc, &accessible_count, &accessible));
  CHECK(info.type == HSA_EXT_POINTER_TYPE_HSA && info.agentBaseAddress == device &&
            info.sizeInBytes == bytes && info.agentOwner.handle == agents.gpu.handle &&
            accessible_count >= 1,
        "pointer info: type %d, base %p, size %zu, %u agents", info.type, info.agentBaseAddress,
        info.sizeInBytes, accessible_count);
  free(accessible);

  std::vector<unsigned> own(bytes / 4);
  for (size_t i = 0; i < own.size(); ++i) own[i] = static_cast<unsigned>(i * 2654435761u);
  unsigned* locked = nullptr;
  HSA_CHECKED(
      hsa_amd_memory_lock(own.data(), bytes, &agents.gpu, 1, reinterpret_cast<void**>(&locked)));
  Copy(device, agents.gpu, locked, agents.gpu, bytes);
  Copy(host, agents.cpu, device, agents.gpu, bytes);
  CHECK(memcmp(host, own.data(), bytes) == 0, "the copy through the device differs");
  HSA_CHECKED(hsa_amd_memory_unlock(own.data()));

  HSA_CHECKED(hsa_amd_memory_fill(device, 0xCAFEF00D, bytes / 8));
  Copy(host, agents.cpu, device, agents.gpu, bytes);
  for (size_t i = 0; i < bytes / 4; ++i) {
    const unsigned want = i < bytes / 8 ? 0xCAFEF00D : own[i];
    CHECK(host[i] == want, "word %zu is %x after the fill, wanted %x", i, host[i], want);
  }

  int devices = 0;
  HIP_CALL(hipGetDeviceCount(&devices));
  CHECK(devices >= 1, "HIP sees no device");
  HSA_CHECKED(hsa_amd_memory_pool_free(host));
  HSA_CHECKED(hsa_amd_memory_pool_free(device));
  HSA_CHECKED(hsa_shut_down());
  return program::Pass();
}
