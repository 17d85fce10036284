// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/copy_classes.h"
#include "analysis/findings/rule.h"

namespace rochound::analysis {

// Copies from GPU memory to GPU memory that are on the path themselves. Whether the program could
// do without them is not in a trace, so it is never sure.
std::optional<Match> FindDeviceCopies(const Picture& picture) {
  const CopyTime copies = ClassifyCopies(picture)[static_cast<size_t>(CopyClass::kDevice)];
  if (copies.ns == 0) return std::nullopt;
  Match match;
  match.gain_ns = copies.ns;
  match.sentence =
      fmt::format("Copies from GPU memory to GPU memory take {} ({}) that everything waits for.",
                  Duration(copies.ns), Share(copies.ns, picture.wall()));
  match.evidence = fmt::format("{}, {}, most with {}", Counted(copies.copies, "copy", "copies"),
                               Bytes(static_cast<double>(copies.bytes)), copies.call);
  return match;
}

}  // namespace rochound::analysis
