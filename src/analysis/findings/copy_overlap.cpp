// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/copy_classes.h"
#include "analysis/findings/rule.h"

namespace rochound::analysis {

std::optional<Match> FindCopyOverlap(const Picture& picture) {
  const CopyTime copies = ClassifyCopies(picture)[static_cast<size_t>(CopyClass::kAsync)];
  int64_t kernels = 0;
  for (const auto& [name, ns] : picture.path_ops())
    if (!IsCopyOp(name)) kernels += ns;
  // The shorter of the two could be hidden by the other.
  const int64_t hidden = std::min(copies.ns, kernels);
  if (hidden == 0) return std::nullopt;
  Match match;
  match.gain_ns = hidden;
  match.sentence =
      fmt::format("Asynchronous copies take {} ({}) in which no kernel runs beside them.",
                  Duration(hidden), Share(hidden, picture.wall()));
  match.evidence =
      fmt::format("{}, {}, {} on the path; kernels {}", Counted(copies.copies, "copy", "copies"),
                  Bytes(static_cast<double>(copies.bytes)), Duration(copies.ns), Duration(kernels));
  return match;
}

}  // namespace rochound::analysis
