// SPDX-License-Identifier: MIT
//
// What differs between the targets, as data. A new target is a new bit and a new row.
#pragma once

#include <cstdint>
#include <string_view>

namespace rochound::softgpu {

// One bit per target, so that a table row can say for which it holds.
enum TargetBit : uint32_t {
  kGfx90a = 1u << 0,
  kGfx942 = 1u << 1,
  kGfx950 = 1u << 2,
  kGfx1030 = 1u << 3,
  kGfx1100 = 1u << 4,
  kGfx1201 = 1u << 5,
};
inline constexpr uint32_t kGfx9Targets = kGfx90a | kGfx942 | kGfx950;  // CDNA
inline constexpr uint32_t kGfx10Targets = kGfx1030;
inline constexpr uint32_t kGfx11Targets = kGfx1100;
inline constexpr uint32_t kGfx12Targets = kGfx1201;
inline constexpr uint32_t kRdnaTargets = kGfx10Targets | kGfx11Targets | kGfx12Targets;
inline constexpr uint32_t kAllTargets = ~0u;

struct Architecture {
  std::string_view target;
  TargetBit bit;
  int first_llvm;  // the first major version that can disassemble it
  bool has_wave32;
  bool
      architected_flat_scratch;  // flat_scratch is set up by hardware, not by the kernel's prologue
  bool packed_workitem_ids;      // x, y, z in one VGPR, ten bits each
  bool workgroup_ids_in_ttmp;    // x in ttmp9, y and z in the halves of ttmp7
  bool mode_has_clamp_and_ieee;  // DX10_CLAMP and IEEE are kernel properties, and bits of MODE
  bool zeroes_high_16;           // a 16-bit VALU result clears the upper half of its register
  uint32_t lds_granule;          // bytes
};

// nullptr if the target is not implemented.
const Architecture* FindArchitecture(std::string_view target);

}  // namespace rochound::softgpu
