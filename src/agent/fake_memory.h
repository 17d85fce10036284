// SPDX-License-Identifier: MIT
//
// Memory for the small runtime of the agent's tests: a pool of the host's and one of the GPU's, both
// in plain memory, locked memory, and a copy engine that refuses what a GPU would fault at. One set
// for the process.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstdint>
#include <functional>

namespace rochound::agent {

class FakeMemory {
 public:
  static constexpr hsa_amd_memory_pool_t kHostPool{101};
  static constexpr hsa_amd_memory_pool_t kGpuPool{102};
  // The GPU sees locked memory so far above the program's address.
  static constexpr uint64_t kLockedAt = uint64_t{1} << 46;

  // Puts the functions into the tables. Before the agent takes them.
  static void Install(CoreApiTable* core, AmdExtTable* amd);
  // The runtime knows this memory as the GPU's from now on; and no memory any more.
  static void Add(uint64_t base, uint64_t size);
  static void ForgetAll();

  static std::atomic<int> copies;      // of the GPU
  static std::atomic<int> bad_copies;  // of memory that the runtime does not know
  // Called by each copy; false: it fails.
  static std::function<bool()> on_copy;
};

}  // namespace rochound::agent
