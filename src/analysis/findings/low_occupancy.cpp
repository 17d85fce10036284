// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/findings/kernel_shapes.h"
#include "analysis/findings/rule.h"

namespace rochound::analysis {

// Workgroups run in rounds of as many as fit. If registers and LDS were no limit, there would be
// fewer rounds, which take as long if workgroups mostly wait for memory, and longer if they
// compute. Which of these holds is not in a trace: a note.
std::optional<Match> FindLowOccupancy(const Picture& picture) {
  constexpr double kLow = 0.34;
  constexpr size_t kLookedAt = 5;
  const std::vector<KernelShape> shapes = LoadKernelShapes(picture);
  for (size_t i = 0; i < std::min(kLookedAt, shapes.size()); ++i) {
    const KernelShape& shape = shapes[i];
    const auto occupancy = OccupancyOf(picture, shape);
    if (!occupancy.has_value() || occupancy->limited_by.empty() || occupancy->fraction() > kLow ||
        occupancy->workgroups == 0 || shape.compute_units == 0)
      continue;
    const int64_t places = occupancy->wgp ? shape.compute_units / 2 : shape.compute_units;
    const auto rounds_of = [&](int64_t per_place) {
      return std::ceil(static_cast<double>(shape.workgroups) /
                       static_cast<double>(std::max<int64_t>(1, places) * per_place));
    };
    const double rounds = rounds_of(occupancy->workgroups);
    const double fewest_rounds = rounds_of(occupancy->workgroups_by_slots);
    if (fewest_rounds >= rounds) continue;  // its grid has no more workgroups that could run
    Match match;
    match.gain_ns = std::llround(static_cast<double>(shape.path_ns) * (1 - fewest_rounds / rounds));
    match.sentence = fmt::format(
        "{} fits {} of {} waves on a SIMD, limited by {}: without that limit it could take up to {} ({}) less.",
        BriefKernel(shape.kernel), occupancy->waves_per_simd, occupancy->slots_per_simd,
        occupancy->limited_by.front(), Duration(match.gain_ns),
        Share(match.gain_ns, picture.wall()));
    match.evidence = fmt::format(
        "{} VGPRs, {} of LDS, {} workgroups of {}, {:.0f} rounds instead of {:.0f}, {} on the path",
        occupancy->vgprs, Bytes(static_cast<double>(occupancy->lds)), shape.workgroups,
        shape.workgroup_size, rounds, fewest_rounds, Duration(shape.path_ns));
    match.advice = fmt::format("Use less of what limits it: {}.", occupancy->limited_by.front());
    return match;
  }
  return std::nullopt;
}

}  // namespace rochound::analysis
