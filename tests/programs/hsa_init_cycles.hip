// SPDX-License-Identifier: MIT
//
// The runtime brought up and taken down several times in one process, as a plugin host does that
// loads a GPU library for a while. In each life a fill, which ROCr does with a kernel of its own,
// and a packet in a queue of the program's own.
// HSA calls are not counted. HIP is not touched: it would hold the runtime up until the end.

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "program.h"

namespace {

#define HSA_CHECKED(call)                                                                         \
  do {                                                                                            \
    const hsa_status_t status = (call);                                                           \
    CHECK(status == HSA_STATUS_SUCCESS, "cycle %d, line %d: %s gave 0x%x", cycle_count, __LINE__, \
          #call, static_cast<unsigned>(status));                                                  \
  } while (0)

int cycle_count = 0;

hsa_status_t FirstGpu(hsa_agent_t agent, void* data) {
  hsa_device_type_t type;
  HSA_CHECKED(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
  *static_cast<hsa_agent_t*>(data) = agent;
  return HSA_STATUS_INFO_BREAK;
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

void FillMemory(hsa_agent_t gpu) {
  hsa_amd_memory_pool_t pool = {};
  CHECK(hsa_amd_agent_iterate_memory_pools(gpu, FirstPool, &pool) == HSA_STATUS_INFO_BREAK,
        "no GPU pool in cycle %d", cycle_count);
  const size_t count = 1 << 16;
  const uint32_t value = 0x5EED0000 + cycle_count;
  void* device = nullptr;
  HSA_CHECKED(hsa_amd_memory_pool_allocate(pool, count * 4, 0, &device));
  HSA_CHECKED(hsa_amd_memory_fill(device, value, count));
  std::vector<uint32_t> host(count);
  HSA_CHECKED(hsa_memory_copy(host.data(), device, count * 4));
  for (size_t i = 0; i < count; ++i)
    CHECK(host[i] == value, "cycle %d: word %zu is %x, wanted %x", cycle_count, i, host[i], value);
  HSA_CHECKED(hsa_amd_memory_pool_free(device));
}

void RunPacket(hsa_agent_t gpu) {
  hsa_queue_t* queue = nullptr;
  HSA_CHECKED(hsa_queue_create(gpu, 128, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX,
                               UINT32_MAX, &queue));
  hsa_signal_t done;
  HSA_CHECKED(hsa_signal_create(1, 0, nullptr, &done));
  const uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
  auto* packet = static_cast<hsa_barrier_and_packet_t*>(queue->base_address) + index % queue->size;
  for (hsa_signal_t& signal : packet->dep_signal) signal.handle = 0;
  packet->completion_signal = done;
  const uint16_t header = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE |
                          1 << HSA_PACKET_HEADER_BARRIER |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  __atomic_store_n(&packet->header, header, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) > 0) {
  }
  HSA_CHECKED(hsa_signal_destroy(done));
  HSA_CHECKED(hsa_queue_destroy(queue));
}

}  // namespace

int main() {
  program::Begin("hsa_init_cycles");
  for (cycle_count = 1; cycle_count <= 4; ++cycle_count) {
    HSA_CHECKED(hsa_init());
    hsa_agent_t gpu = {};
    CHECK(hsa_iterate_agents(FirstGpu, &gpu) == HSA_STATUS_INFO_BREAK, "no GPU in cycle %d",
          cycle_count);
    FillMemory(gpu);
    RunPacket(gpu);
    HSA_CHECKED(hsa_shut_down());
  }
  CHECK(hsa_shut_down() == HSA_STATUS_ERROR_NOT_INITIALIZED, "the runtime is still up");
  return program::Pass();
}
