// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

// A few waits are how every program ends its parts.
std::optional<Match> FindSynchronization(const Picture& picture) {
  constexpr int64_t kOften = 20;
  const Picture::Split& split = picture.split();
  if (split.sync_gaps == 0) return std::nullopt;
  Match match;
  match.gain_ns = split.sync_ns;
  if (split.sync_gaps < kOften) match.confidence = Confidence::kNote;
  match.sentence = fmt::format(
      "The GPU runs dry at synchronizations: {} ({}) pass between the end of its work "
      "and the next launch's.",
      Duration(match.gain_ns), Share(match.gain_ns, picture.wall()));
  match.evidence = fmt::format("{}, {} each, most in {}", Counted(split.sync_gaps, "gap", "gaps"),
                               Duration(match.gain_ns / split.sync_gaps), split.sync_call);
  return match;
}

}  // namespace rochound::analysis
