// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"
#include "analysis/idle_sweep.h"

namespace rochound::analysis {

std::optional<Match> FindHostFunction(const Picture& picture) {
  const Picture::Sum waits = picture.Idle([](const IdleReason& reason) {
    return reason.cause == IdleCauseName(IdleCause::kHostFunction);
  });
  if (waits.ns == 0) return std::nullopt;
  Match match;
  match.gain_ns = waits.ns;
  match.sentence = fmt::format("Streams wait {} ({}) for host functions of the program.",
                               Duration(waits.ns), Share(waits.ns, picture.wall()));
  match.evidence = fmt::format("{} after {}", Counted(waits.pieces, "gap", "gaps"), waits.most);
  return match;
}

}  // namespace rochound::analysis
