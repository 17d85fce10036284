// SPDX-License-Identifier: MIT
//
// What profilers do to see every packet: HSA queues are created as queues that ROCr shows them
// first (hsa_amd_queue_intercept_create). Counts queues and kernel dispatches. For tests; included
// once per library.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ext_amd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace watched_queues {

inline std::atomic<uint64_t> dispatches{0};
inline std::atomic<uint32_t> queues{0};
inline AmdExtTable amd = {};

inline void SeePackets(const void* packets, uint64_t count, uint64_t, void*,
                       hsa_amd_queue_intercept_packet_writer writer) {
  const auto* const first = static_cast<const hsa_kernel_dispatch_packet_t*>(packets);
  for (uint64_t i = 0; i < count; ++i)
    if ((first[i].header >> HSA_PACKET_HEADER_TYPE & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH)
      dispatches.fetch_add(1, std::memory_order_relaxed);
  writer(packets, count);
}

inline hsa_status_t QueueCreate(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                                uint32_t private_size, uint32_t group_size, hsa_queue_t** queue) {
  const hsa_status_t status = amd.hsa_amd_queue_intercept_create_fn(
      agent, size, type, callback, data, private_size, group_size, queue);
  if (status != HSA_STATUS_SUCCESS) return status;
  amd.hsa_amd_profiling_set_profiler_enabled_fn(*queue, 1);
  queues.fetch_add(1);
  return amd.hsa_amd_queue_intercept_register_fn(*queue, SeePackets, nullptr);
}

inline void Take(HsaApiTable* table) {
  std::memcpy(static_cast<void*>(&amd), table->amd_ext_,
              std::min<size_t>(table->amd_ext_->version.minor_id, sizeof amd));
  table->core_->hsa_queue_create_fn = QueueCreate;
}

}  // namespace watched_queues
