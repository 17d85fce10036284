// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/kernel_shapes.h"
#include "analysis/findings/rule.h"

namespace rochound::analysis {

// Few waves hide less latency. Whether that costs time is not in a trace: a note.
std::optional<Match> FindLowOccupancy(const Picture& picture) {
  constexpr double kLow = 0.34;
  constexpr size_t kLookedAt = 5;
  const std::vector<KernelShape> shapes = LoadKernelShapes(picture);
  for (size_t i = 0; i < std::min(kLookedAt, shapes.size()); ++i) {
    const auto occupancy = OccupancyOf(picture, shapes[i]);
    if (!occupancy.has_value() || occupancy->limited_by.empty() || occupancy->fraction() > kLow)
      continue;
    Match match;
    match.gain_ns = shapes[i].path_ns;
    match.sentence =
        fmt::format("{} fits {} of {} waves on a SIMD, limited by {}: it takes {} ({}).",
                    BriefKernel(shapes[i].kernel), occupancy->waves_per_simd,
                    occupancy->slots_per_simd, occupancy->limited_by.front(),
                    Duration(match.gain_ns), Share(match.gain_ns, picture.wall()));
    match.evidence =
        fmt::format("{} VGPRs, {} of LDS, workgroups of {}", occupancy->vgprs,
                    Bytes(static_cast<double>(occupancy->lds)), shapes[i].workgroup_size);
    match.advice = fmt::format("Use less of what limits it: {}.", occupancy->limited_by.front());
    return match;
  }
  return std::nullopt;
}

}  // namespace rochound::analysis
