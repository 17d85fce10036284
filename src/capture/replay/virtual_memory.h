// SPDX-License-Identifier: MIT
//
// The runtime's calls for memory at chosen addresses (hsa_amd_vmem_*), looked up at run time: ROCm
// before 5.7 has none of them, not even in its headers. The types here have the layout of the
// runtime's. Found once, on the main thread; the calls themselves are the runtime's and return its
// results.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace rochound::capture::replay {

struct VirtualMemory {
  struct Handle {
    uint64_t handle;
  };
  struct Access {
    hsa_access_permission_t permissions;
    hsa_agent_t agent;
  };

  hsa_status_t (*reserve)(void** address, size_t size, uint64_t wanted, uint64_t flags) = nullptr;
  hsa_status_t (*free)(void* address, size_t size) = nullptr;
  hsa_status_t (*create)(hsa_amd_memory_pool_t pool, size_t size, int type, uint64_t flags,
                         Handle* handle) = nullptr;
  hsa_status_t (*map)(void* address, size_t size, size_t offset, Handle handle,
                      uint64_t flags) = nullptr;
  hsa_status_t (*set_access)(void* address, size_t size, const Access* access,
                             size_t count) = nullptr;

  static base::Result<VirtualMemory> Find();
};

}  // namespace rochound::capture::replay
