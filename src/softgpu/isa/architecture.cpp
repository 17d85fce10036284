// SPDX-License-Identifier: MIT
#include "softgpu/isa/architecture.h"

namespace rochound::softgpu {
namespace {

constexpr Architecture kArchitectures[] = {
    {.target = "gfx942",
     .bit = kGfx942,
     .first_llvm = 17,
     .has_wave32 = false,
     .has_wave64 = true,
     .architected_flat_scratch = true,
     .architected_agprs = true,
     .packed_workitem_ids = true,
     .zeroes_high_16 = true,
     .vgpr_granule_wave32 = 0,
     .vgpr_granule_wave64 = 8},
    {.target = "gfx1030",
     .bit = kGfx1030,
     .first_llvm = 11,
     .has_wave32 = true,
     .has_wave64 = true,
     .architected_flat_scratch = false,
     .architected_agprs = false,
     .packed_workitem_ids = false,
     .zeroes_high_16 = false,
     .vgpr_granule_wave32 = 8,
     .vgpr_granule_wave64 = 4},
};

}  // namespace

const Architecture* FindArchitecture(std::string_view target) {
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.target == target) return &architecture;
  }
  return nullptr;
}

}  // namespace rochound::softgpu
