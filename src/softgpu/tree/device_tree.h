// SPDX-License-Identifier: MIT
//
// The device tree of the software GPU: what the shim shows in place of /sys and /proc, and what the
// core reads to learn its devices (src/softgpu/devices/README.md has the layout). This file only
// computes the content, from GPU models and facts about the host; softgpu_tree_store.h puts it on
// disk. Pure functions, any thread, no failure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "softgpu/tree/gpu_model.h"

namespace rochound::softgpu {

// What node 0 of the topology says about this machine.
struct HostFacts {
  uint64_t cpu_cores = 1;
  uint64_t first_apic_id = 0;  // libhsakmt finds the CPU's name in /proc/cpuinfo by it
  uint64_t memory_bytes = 0;
  uint64_t cpu_clock_mhz = 0;  // 0: not known
};
HostFacts ReadHostFacts();

// Paths are relative to the tree's root. Parent directories of all three are implied.
struct DeviceTree {
  std::map<std::string, std::string> files;  // path -> content
  std::map<std::string, std::string> links;  // path -> target
  std::set<std::string> directories;         // those that are empty

  // Sixteen hexadecimal digits that differ when anything in the tree does.
  std::string Hash() const;
};

// At most this many: libhsakmt and ROCr take more, but one machine has not been seen with more.
inline constexpr size_t kMaxGpus = 16;

DeviceTree MakeDeviceTree(const std::vector<GpuModel>& gpus, const HostFacts& host);

}  // namespace rochound::softgpu
