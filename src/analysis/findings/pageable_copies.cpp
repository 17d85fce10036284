// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/copy_classes.h"
#include "analysis/findings/rule.h"

namespace rochound::analysis {

std::optional<Match> FindPageableCopies(const Picture& picture) {
  const CopyTime copies = ClassifyCopies(picture)[static_cast<size_t>(CopyClass::kPageable)];
  if (copies.ns == 0) return std::nullopt;
  Match match;
  match.gain_ns = copies.ns;
  // A few small ones cost what they cost.
  if (copies.bytes < (1 << 20)) match.confidence = Confidence::kNote;
  match.sentence =
      fmt::format("Copies of memory that is not pinned take {} ({}) that everything waits for.",
                  Duration(copies.ns), Share(copies.ns, picture.wall()));
  match.evidence = fmt::format("{}, {}, most with {}", Counted(copies.copies, "copy", "copies"),
                               Bytes(static_cast<double>(copies.bytes)), copies.call);
  return match;
}

}  // namespace rochound::analysis
