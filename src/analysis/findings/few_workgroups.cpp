// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/findings/kernel_shapes.h"
#include "analysis/findings/rule.h"

namespace rochound::analysis {

// With as many workgroups as compute units the same work would take the share of these that the
// kernel uses now. It would be wrong where other streams fill the rest of the GPU, so what runs
// beside it counts too; and where its work cannot be divided, so it is never sure.
std::optional<Match> FindFewWorkgroups(const Picture& picture) {
  constexpr int64_t kTiny = 40'000;
  const bool tiny = FindTinyKernels(picture).has_value();
  double gain = 0;
  int64_t most_ns = 0;
  KernelShape most;
  for (const KernelShape& shape : LoadKernelShapes(picture)) {
    if (shape.compute_units == 0 || shape.workgroups >= shape.compute_units) continue;
    if (shape.workgroups == 0) continue;  // kernels of a graph: some tools record no grid of them
    if (IsCollectiveKernel(shape.kernel)) continue;  // it waits for other GPUs, whatever its size
    if (shape.path_ns * 100 < picture.wall()) continue;
    // Those are too short for another shape to matter.
    if (tiny && shape.path_ns < kTiny * shape.calls) continue;
    const double at_once =
        std::max(WorkgroupsAtOnce(picture, shape), static_cast<double>(shape.workgroups));
    const double unused = 1 - at_once / static_cast<double>(shape.compute_units);
    if (unused <= 0) continue;
    gain += static_cast<double>(shape.path_ns) * unused;
    if (shape.path_ns <= most_ns) continue;
    most_ns = shape.path_ns;
    most = shape;
  }
  if (most_ns == 0) return std::nullopt;
  Match match;
  match.gain_ns = std::llround(gain);
  match.sentence = fmt::format(
      "{} launches {} on a GPU with {} compute units: {} ({}) could be saved.",
      BriefKernel(most.kernel), Counted(most.workgroups, "workgroup", "workgroups"),
      most.compute_units, Duration(match.gain_ns), Share(match.gain_ns, picture.wall()));
  match.evidence = fmt::format("{} launches, grid {}, workgroup {}, {} on the path", most.calls,
                               most.grid, most.workgroup, Duration(most_ns));
  return match;
}

}  // namespace rochound::analysis
