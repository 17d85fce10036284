// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/findings/kernel_shapes.h"
#include "analysis/findings/rule.h"

namespace rochound::analysis {

// Workgroups run in rounds of as many as the GPU holds at once. Where they take equally long, the
// last round takes as long as a full one, however few are in it.
std::optional<Match> FindTail(const Picture& picture) {
  constexpr double kFull = 0.75;
  constexpr size_t kLookedAt = 5;
  const std::vector<KernelShape> shapes = LoadKernelShapes(picture);
  for (size_t i = 0; i < std::min(kLookedAt, shapes.size()); ++i) {
    const KernelShape& shape = shapes[i];
    if (shape.compute_units == 0 || shape.workgroups < shape.compute_units) continue;
    if (IsCollectiveKernel(shape.kernel)) continue;
    const auto occupancy = OccupancyOf(picture, shape);
    if (!occupancy.has_value() || occupancy->workgroups == 0) continue;
    const int64_t places = occupancy->wgp ? shape.compute_units / 2 : shape.compute_units;
    const int64_t at_once = places * occupancy->workgroups;
    if (at_once == 0 || shape.workgroups <= at_once) continue;
    const double rounds = static_cast<double>(shape.workgroups) / static_cast<double>(at_once);
    const double filled = rounds / std::ceil(rounds);
    if (filled >= kFull) continue;
    Match match;
    match.gain_ns = std::llround(static_cast<double>(shape.path_ns) * (1 - filled));
    match.sentence = fmt::format(
        "{} runs {} workgroups, {:.1f} times what the GPU holds at once: the last round leaves {} "
        "({}) unused.",
        BriefKernel(shape.kernel), shape.workgroups, rounds, Duration(match.gain_ns),
        Share(match.gain_ns, picture.wall()));
    match.evidence =
        fmt::format("{} at once ({} per {} on {}), {} on the path", at_once, occupancy->workgroups,
                    occupancy->wgp ? "WGP" : "CU", places, Duration(shape.path_ns));
    return match;
  }
  return std::nullopt;
}

}  // namespace rochound::analysis
