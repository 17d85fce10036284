// SPDX-License-Identifier: MIT
#include "softgpu/isa/architecture.h"

namespace rochound::softgpu {
namespace {

constexpr Architecture kArchitectures[] = {
    {.target = "gfx90a",
     .bit = kGfx90a,
     .first_llvm = 13,
     .has_wave32 = false,
     .architected_flat_scratch = false,
     .packed_workitem_ids = true,
     .workgroup_ids_in_ttmp = false,
     .mode_has_clamp_and_ieee = true,
     .zeroes_high_16 = true,
     .lds_granule = 512},
    {.target = "gfx942",
     .bit = kGfx942,
     .first_llvm = 17,
     .has_wave32 = false,
     .architected_flat_scratch = true,
     .packed_workitem_ids = true,
     .workgroup_ids_in_ttmp = false,
     .mode_has_clamp_and_ieee = true,
     .zeroes_high_16 = true,
     .lds_granule = 512},
    {.target = "gfx950",
     .bit = kGfx950,
     .first_llvm = 20,
     .has_wave32 = false,
     .architected_flat_scratch = true,
     .packed_workitem_ids = true,
     .workgroup_ids_in_ttmp = false,
     .mode_has_clamp_and_ieee = true,
     .zeroes_high_16 = true,
     .lds_granule = 1280},
    {.target = "gfx1030",
     .bit = kGfx1030,
     .first_llvm = 11,
     .has_wave32 = true,
     .architected_flat_scratch = false,
     .packed_workitem_ids = false,
     .workgroup_ids_in_ttmp = false,
     .mode_has_clamp_and_ieee = true,
     .zeroes_high_16 = false,
     .lds_granule = 512},
    {.target = "gfx1100",
     .bit = kGfx1100,
     .first_llvm = 16,
     .has_wave32 = true,
     .architected_flat_scratch = true,
     .packed_workitem_ids = true,
     .workgroup_ids_in_ttmp = false,
     .mode_has_clamp_and_ieee = true,
     .zeroes_high_16 = false,
     .lds_granule = 512},
    {.target = "gfx1201",
     .bit = kGfx1201,
     .first_llvm = 19,
     .has_wave32 = true,
     .architected_flat_scratch = true,
     .packed_workitem_ids = true,
     .workgroup_ids_in_ttmp = true,
     .mode_has_clamp_and_ieee = false,
     .zeroes_high_16 = false,
     .lds_granule = 512},
};

}  // namespace

const Architecture* FindArchitecture(std::string_view target) {
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.target == target) return &architecture;
  }
  return nullptr;
}

}  // namespace rochound::softgpu
