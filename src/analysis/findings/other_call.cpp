// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"
#include "analysis/idle_sweep.h"

namespace rochound::analysis {

std::optional<Match> FindOtherCall(const Picture& picture) {
  const auto fits = [](const IdleReason& reason) {
    return reason.cause == IdleCauseName(IdleCause::kOtherCall) && !IsCopyCall(reason.what) &&
           !IsAllocationCall(reason.what);
  };
  const Picture::Sum calls = picture.Idle(fits);
  if (calls.ns == 0) return std::nullopt;
  const Picture::Sum most = picture.Idle(
      [&](const IdleReason& reason) { return fits(reason) && reason.what == calls.most; });
  Match match;
  match.gain_ns = calls.ns;
  // What was called a few times is paid once.
  if (most.pieces < 5) match.confidence = Confidence::kNote;
  match.sentence = fmt::format("The GPU waits {} ({}) while the host is in {}.", Duration(calls.ns),
                               Share(calls.ns, picture.wall()), calls.most);
  match.evidence = fmt::format("{}: {} in {}", most.most, Duration(most.ns),
                               Counted(most.pieces, "gap", "gaps"));
  return match;
}

}  // namespace rochound::analysis
