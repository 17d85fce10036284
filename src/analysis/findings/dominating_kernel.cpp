// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/kernel_shapes.h"
#include "analysis/findings/rule.h"

namespace rochound::analysis {

std::optional<Match> FindDominatingKernel(const Picture& picture) {
  const std::vector<KernelShape> shapes = LoadKernelShapes(picture);
  if (shapes.empty() || shapes[0].path_ns * 2 < picture.wall()) return std::nullopt;
  const KernelShape& most = shapes[0];
  Match match;
  match.gain_ns = most.path_ns;
  match.sentence = fmt::format("{} is {} ({}) of the time, as grid {} of workgroups {}.",
                               BriefKernel(most.kernel), Duration(most.path_ns),
                               Share(most.path_ns, picture.wall()), most.grid, most.workgroup);
  match.evidence = fmt::format("{}, {} each", Counted(most.calls, "launch", "launches"),
                               Duration(most.path_ns / std::max<int64_t>(1, most.calls)));
  return match;
}

}  // namespace rochound::analysis
