// SPDX-License-Identifier: MIT
//
// What the counters and the cost model assume of a target, as data: a target is a row. Where each
// figure comes from is in docs/softgpu-counters.md. Constant; any thread.
#pragma once

#include <array>
#include <cstdint>

#include "base/lds_banks.h"
#include "softgpu/counters/instruction_class.h"
#include "softgpu/isa/architecture.h"

namespace rochound::softgpu {

using base::LdsGrouping;

struct TargetRules {
  TargetBit bit;
  uint32_t line_bytes;         // of the cache that vector memory instructions meet first
  uint32_t scalar_line_bytes;  // of the scalar data cache
  LdsGrouping lds_grouping;

  // Vector registers of a SIMD, per lane, and the unit they are handed out in, by wave size.
  uint32_t vgprs_wave32, vgprs_wave64;
  uint32_t vgpr_unit_wave32, vgpr_unit_wave64;
  // Registers per unit of the kernel descriptor's field.
  uint32_t vgpr_field_wave32, vgpr_field_wave64;

  // The cost model, in cycles.
  uint32_t simd_lanes;      // a VALU instruction takes wave size / simd_lanes cycles
  uint32_t issue_interval;  // from one instruction of a wave to its next, at least
  uint32_t double_factor;   // of a VALU instruction's cycles
  uint32_t wide_integer_factor;
  uint32_t transcendental_factor;
  uint32_t transcendental_double_factor;
  std::array<uint32_t, kMatrixKinds> multiplications_per_cycle;  // of a SIMD; 0: has none
  uint32_t scalar_latency;                                       // from issue to data
  uint32_t lds_latency;
  uint32_t memory_latency;
  uint32_t branch_cycles;     // of a branch that is taken
  bool scalar_unit_per_simd;  // else one for the compute unit
};

const TargetRules& RulesFor(const Architecture& architecture);

}  // namespace rochound::softgpu
