// SPDX-License-Identifier: MIT
#include "codeobj/occupancy.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rochound::codeobj {
namespace {

using base::Error;
using base::Result;

// Facts about processors whose name begins so; the first row that fits counts.
struct Architecture {
  std::string_view name;
  uint32_t slots;       // waves per SIMD
  uint32_t vgprs;       // per lane and SIMD, for waves of 64
  uint32_t vgpr_unit;   // of allocation, for waves of 64
  uint32_t vgpr_code;   // of the descriptor's field, for waves of 64
  bool separate_agprs;  // a second register file of the same size
  bool sgprs_count;     // 800 per SIMD; later ones have enough for all
  bool rdna;            // waves of 32 too, and a WGP of two CUs
  uint64_t lds;         // bytes per CU
  uint64_t lds_unit;    // of allocation
};

constexpr Architecture kArchitectures[] = {
    {"gfx950", 8, 512, 8, 8, false, true, false, 160 << 10, 1280},
    {"gfx94", 8, 512, 8, 8, false, true, false, 64 << 10, 512},
    {"gfx9-4-generic", 8, 512, 8, 8, false, true, false, 64 << 10, 512},
    {"gfx90a", 8, 512, 8, 8, false, true, false, 64 << 10, 512},
    {"gfx908", 10, 256, 4, 4, true, true, false, 64 << 10, 512},
    {"gfx9", 10, 256, 4, 4, false, true, false, 64 << 10, 512},
    {"gfx101", 20, 512, 4, 4, false, false, true, 64 << 10, 512},
    {"gfx10-1-generic", 20, 512, 4, 4, false, false, true, 64 << 10, 512},
    {"gfx10", 16, 512, 8, 4, false, false, true, 64 << 10, 512},
    {"gfx1100", 16, 768, 12, 4, false, false, true, 64 << 10, 512},
    {"gfx1101", 16, 768, 12, 4, false, false, true, 64 << 10, 512},
    {"gfx1151", 16, 768, 12, 4, false, false, true, 64 << 10, 512},
    {"gfx11", 16, 512, 8, 4, false, false, true, 64 << 10, 512},
    {"gfx1200", 16, 768, 12, 4, false, false, true, 64 << 10, 512},
    {"gfx1201", 16, 768, 12, 4, false, false, true, 64 << 10, 512},
    {"gfx12-generic", 16, 768, 12, 4, false, false, true, 64 << 10, 512},
};

uint64_t RoundUp(uint64_t number, uint64_t unit) { return (number + unit - 1) / unit * unit; }
uint64_t DivideUp(uint64_t number, uint64_t by) { return (number + by - 1) / by; }

uint32_t BySgprs(uint64_t sgprs, uint32_t slots) {
  const uint32_t waves = sgprs <= 80 ? 10 : sgprs <= 88 ? 9 : sgprs <= 100 ? 8 : 7;
  return std::min(waves, slots);
}

}  // namespace

Result<Occupancy> TheoreticalOccupancy(const Target& target, const Kernel& kernel,
                                       uint64_t workgroup_size, uint64_t lds) {
  const auto* const architecture = std::find_if(
      std::begin(kArchitectures), std::end(kArchitectures),
      [&](const auto& row) { return std::string_view(target.processor).starts_with(row.name); });
  if (architecture == std::end(kArchitectures))
    return Error{
        fmt::format("how many waves a {} can hold is not known to this release", target.processor)};
  const Architecture& facts = *architecture;
  const uint64_t wave = kernel.descriptor.wave32() && facts.rdna ? 32 : 64;
  const uint64_t lanes = 64 / wave;  // half as wide, twice as many
  if (workgroup_size == 0) workgroup_size = kernel.max_flat_workgroup_size;
  if (workgroup_size == 0) workgroup_size = wave;
  workgroup_size = std::min<uint64_t>(workgroup_size, 1024);

  Occupancy result;
  constexpr uint32_t kWgpMode = 1 << 29;  // of rsrc1
  result.wgp = facts.rdna && (kernel.descriptor.rsrc1 & kWgpMode) != 0;
  result.simds = facts.rdna && !result.wgp ? 2 : 4;
  result.slots_per_simd = facts.slots;
  result.waves_per_workgroup = static_cast<uint32_t>(DivideUp(workgroup_size, wave));

  uint64_t vgprs = kernel.vgpr_count;
  if (facts.separate_agprs)
    vgprs = std::max(vgprs - std::min(vgprs, kernel.agpr_count), kernel.agpr_count);
  result.vgprs_per_simd = static_cast<uint32_t>(facts.vgprs * lanes);
  const auto allocated = [&](uint64_t registers) {
    return static_cast<uint32_t>(std::min<uint64_t>(
        RoundUp(std::max<uint64_t>(registers, 1), facts.vgpr_unit * lanes), result.vgprs_per_simd));
  };
  // The GPU allocates what the descriptor says. Metadata that was written by hand may have less.
  const uint32_t by_descriptor =
      allocated((kernel.descriptor.vgpr_granules() + 1) * uint64_t{facts.vgpr_code} * lanes);
  const uint32_t by_metadata = kernel.has_metadata ? allocated(vgprs) : 0;
  result.vgprs = std::max(by_descriptor, by_metadata);
  result.more_than_metadata = kernel.has_metadata && by_descriptor > by_metadata;
  result.lds_per_cu = facts.lds * (result.wgp ? 2 : 1);
  result.lds = RoundUp(std::min(lds, result.lds_per_cu), facts.lds_unit);

  // Waves per SIMD if so many workgroups are on the CU; they spread evenly.
  const auto of_workgroups = [&](uint64_t workgroups) {
    const uint64_t waves = DivideUp(workgroups * result.waves_per_workgroup, result.simds);
    return static_cast<uint32_t>(std::clamp<uint64_t>(waves, 1, facts.slots));
  };
  const uint64_t slots = uint64_t{facts.slots} * result.simds;
  const uint64_t by_lds =
      result.lds == 0 ? slots : std::max<uint64_t>(1, result.lds_per_cu / result.lds);
  uint64_t by_size = std::max<uint64_t>(1, slots / result.waves_per_workgroup);
  // A workgroup of several waves needs one of the CU's barriers.
  if (result.waves_per_workgroup > 1) by_size = std::min<uint64_t>(by_size, result.wgp ? 32 : 16);

  result.workgroups_by_slots = static_cast<uint32_t>(by_size);

  const auto add = [&](const char* resource, uint32_t waves) {
    result.limits.push_back({resource, std::clamp(waves, 1u, facts.slots)});
  };
  add(kernel.agpr_count > 0 ? "VGPRs and AGPRs" : "VGPRs", result.vgprs_per_simd / result.vgprs);
  if (facts.sgprs_count) add("SGPRs", BySgprs(kernel.sgpr_count, facts.slots));
  add("LDS", of_workgroups(std::min(by_lds, by_size)) < of_workgroups(by_size)
                 ? of_workgroups(by_lds)
                 : facts.slots);
  add("workgroup size", of_workgroups(by_size));
  std::stable_sort(result.limits.begin(), result.limits.end(),
                   [](const auto& left, const auto& right) {
                     return left.waves_per_simd < right.waves_per_simd;
                   });
  result.waves_per_simd = result.limits.front().waves_per_simd;
  if (result.waves_per_simd < result.slots_per_simd) {
    for (const Occupancy::Limit& limit : result.limits)
      if (limit.waves_per_simd == result.waves_per_simd)
        result.limited_by.push_back(limit.resource);
  }
  uint64_t by_registers = uint64_t{facts.slots};
  for (const Occupancy::Limit& limit : result.limits)
    if (limit.resource != "LDS" && limit.resource != "workgroup size")
      by_registers = std::min<uint64_t>(by_registers, limit.waves_per_simd);
  result.workgroups = static_cast<uint32_t>(
      std::min({by_lds, by_size, by_registers * result.simds / result.waves_per_workgroup}));
  return result;
}

}  // namespace rochound::codeobj
