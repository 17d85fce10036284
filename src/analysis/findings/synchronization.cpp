// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

// The gaps in which the host was in a synchronization when the GPU ran dry, so nothing else can
// have emptied it. It would be wrong where the wait cannot be done without; a few are how every
// program ends its parts.
std::optional<Match> FindSynchronization(const Picture& picture) {
  constexpr int64_t kOften = 20;
  const Picture::Gaps gaps = picture.GapsOf(Picture::Owner::kSync);
  if (gaps.gaps == 0) return std::nullopt;
  Match match;
  match.gain_ns = gaps.ns;
  if (gaps.gaps < kOften) match.confidence = Confidence::kNote;
  match.sentence = fmt::format(
      "The GPU runs dry at synchronizations: {} ({}) pass between the end of its work "
      "and the next launch's.",
      Duration(match.gain_ns), Share(match.gain_ns, picture.wall()));
  match.evidence = fmt::format("{}, {} each, most in {}", Counted(gaps.gaps, "gap", "gaps"),
                               Duration(match.gain_ns / gaps.gaps), gaps.call);
  return match;
}

}  // namespace rochound::analysis
