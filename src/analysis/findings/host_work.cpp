// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"
#include "analysis/idle_sweep.h"

namespace rochound::analysis {

std::optional<Match> FindHostWork(const Picture& picture) {
  const Picture::Sum outside = picture.Idle([&](const IdleReason& reason) {
    return reason.cause == IdleCauseName(IdleCause::kOutsideHip) && !picture.InSplit(reason);
  });
  if (outside.ns == 0 || FindCpuWork(picture).has_value()) return std::nullopt;
  const Picture::Sum most = picture.Idle([&](const IdleReason& reason) {
    return reason.cause == IdleCauseName(IdleCause::kOutsideHip) && reason.what == outside.most;
  });
  Match match;
  match.gain_ns = outside.ns;
  match.sentence =
      fmt::format("The GPU waits {} ({}) for the host, which works or waits outside HIP{}.",
                  Duration(outside.ns), Share(outside.ns, picture.wall()),
                  most.most.empty() ? "" : fmt::format(", most in range '{}'", most.most));
  match.evidence =
      fmt::format("{}{} in {}", most.most.empty() ? "" : fmt::format("'{}': ", most.most),
                  Duration(most.ns), Counted(most.gaps, "gap", "gaps"));
  if (most.most.empty()) {
    match.evidence += "; no range of the program is open then";
    match.advice =
        "Mark the program's parts with roctx ranges, record again, and see which part it is.";
  }
  return match;
}

}  // namespace rochound::analysis
