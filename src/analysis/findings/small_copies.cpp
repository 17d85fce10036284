// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/copy_classes.h"
#include "analysis/findings/rule.h"

namespace rochound::analysis {

std::optional<Match> FindSmallCopies(const Picture& picture) {
  const CopyTime copies = ClassifyCopies(picture)[static_cast<size_t>(CopyClass::kSmall)];
  if (copies.ns == 0 || copies.copies < kManyCopies) return std::nullopt;
  Match match;
  match.gain_ns = copies.ns;
  match.sentence =
      fmt::format("{} small copies take {} ({}) that everything waits for.", copies.copies,
                  Duration(copies.ns), Share(copies.ns, picture.wall()));
  match.evidence =
      fmt::format("{} and {} each on average, most with {}",
                  Bytes(static_cast<double>(copies.bytes) / static_cast<double>(copies.copies)),
                  Duration(copies.ns / copies.copies), copies.call);
  return match;
}

}  // namespace rochound::analysis
