// SPDX-License-Identifier: MIT
//
// What differs between the targets, as data. A new target is a new bit and a new row.
#pragma once

#include <cstdint>
#include <string_view>

namespace rochound::softgpu {

// One bit per target, so that a table row can say for which it holds.
enum TargetBit : uint32_t {
  kGfx942 = 1u << 0,
  kGfx1030 = 1u << 1,
};
inline constexpr uint32_t kGfx9Targets = kGfx942;
inline constexpr uint32_t kGfx10Targets = kGfx1030;
inline constexpr uint32_t kAllTargets = ~0u;

struct Architecture {
  std::string_view target;
  TargetBit bit;
  int first_llvm;  // the first major version that can disassemble it
  bool has_wave32;
  bool has_wave64;
  bool
      architected_flat_scratch;  // flat_scratch is set up by hardware, not by the kernel's prologue
  bool architected_agprs;        // has AGPRs, and accum_offset in the kernel descriptor
  bool packed_workitem_ids;      // x, y, z in one VGPR, ten bits each
  bool zeroes_high_16;           // a 16-bit VALU result clears the upper half of its register
  uint32_t vgpr_granule_wave32;  // VGPRs per unit of the descriptor's granulated count
  uint32_t vgpr_granule_wave64;
};

// nullptr if the target is not implemented.
const Architecture* FindArchitecture(std::string_view target);

}  // namespace rochound::softgpu
