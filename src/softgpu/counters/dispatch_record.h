// SPDX-License-Identifier: MIT
//
// What was counted in one dispatch, ready to be shown: who it was, its sums, and the cycles that
// the cost model makes of them. Plain data and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "softgpu/counters/cache_model.h"
#include "softgpu/counters/wave_tally.h"
#include "softgpu/isa/architecture.h"

namespace rochound::softgpu {

struct DispatchIdentity {
  uint64_t order = 0;  // of the dispatch's start, in this process, from 0
  uint32_t process = 0;
  uint32_t queue = 0;
  uint32_t gpu_id = 0;
  std::string gpu;  // "mi300x"
  std::string kernel;
  const Architecture* architecture = nullptr;
  unsigned wave_size = 64;
  unsigned grid[3] = {};
  unsigned group[3] = {};
  uint64_t group_count = 0;
  unsigned waves_per_group = 0;
  uint32_t lds_bytes = 0;  // of a workgroup
  uint32_t scratch_bytes_per_lane = 0;
  uint32_t vgpr_field = 0;  // as the kernel descriptor has it
  uint64_t entry = 0;       // address of the kernel's first instruction

  // Of the device.
  uint32_t compute_units = 0;
  uint32_t simds_per_compute_unit = 0;
  uint32_t max_waves_per_simd = 0;
  uint32_t lds_bytes_per_compute_unit = 0;
};

struct ModelledTime {
  uint64_t cycles = 0;
  const char* bound = "";  // what it is limited by: "simd", "scalar", "lds", "memory", "latency"
  uint32_t compute_units_used = 0;
  uint32_t waves_per_simd = 0;  // resident at once
};

// What the model of caches says of the dispatch.
struct CacheRecord {
  CacheSums l1, scalar, l2, mall;
  bool has_mall = false;
  uint64_t memory_read_bytes = 0;
  uint64_t memory_written_bytes = 0;
  uint64_t left_in_mall_bytes = 0;
};

struct DispatchRecord {
  DispatchIdentity identity;
  bool completed = false;
  Sums sums;
  FootprintSums footprint{};  // of sums.footprint, which is given back
  ModelledTime modelled;
  std::optional<CacheRecord> caches;
};

ModelledTime ModelTime(const DispatchIdentity& identity, const Sums& sums);

// Instructions by class, in the order of InstructionClass.
std::array<uint64_t, kInstructionClasses> InstructionsByClass(const Sums& sums);

// Operations of all instructions, with the lanes that were active.
OperationSums CountOperations(const Sums& sums);

// One line of JSON, without the line's end. docs/softgpu-counters.md describes it.
std::string ToJson(const DispatchRecord& record);

}  // namespace rochound::softgpu
