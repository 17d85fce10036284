// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"
#include "analysis/idle_sweep.h"

namespace rochound::analysis {

// Time before the GPU's first operation and after its last. Nothing is slow between operations by
// this, and a longer run has it once. It would be wrong to promise it where the recording is one
// step of many, so it is never sure.
std::optional<Match> FindEdges(const Picture& picture) {
  const auto at = [&](GapOrigin origin) {
    return picture.Idle([&, origin](const IdleReason& reason) {
      return reason.origin == GapOriginName(origin) &&
             picture.OwnerOf(reason) == Picture::Owner::kEdges;
    });
  };
  const Picture::Sum before = at(GapOrigin::kFirst), after = at(GapOrigin::kLast);
  if (before.ns + after.ns == 0) return std::nullopt;
  Match match;
  match.gain_ns = before.ns + after.ns;
  const bool mostly_before = before.ns >= after.ns;
  const Picture::Sum& most = mostly_before ? before : after;
  // Every program sets up and ends.
  if (most.ns * 4 < picture.wall()) match.confidence = Confidence::kNote;
  match.sentence = fmt::format(
      "{} ({}) pass {}{}.", Duration(most.ns), Share(most.ns, picture.wall()),
      mostly_before ? "before the GPU's first operation" : "after the GPU's last operation",
      most.most.empty() ? "" : fmt::format(", most in '{}'", most.most));
  match.evidence = fmt::format("{} before the first operation, {} after the last",
                               Duration(before.ns), Duration(after.ns));
  return match;
}

// The first operation of a queue that was submitted long before it started: it waited for what was
// submitted before the recording, or for another process on the same GPU. A launch takes
// microseconds, so it is no latency. Clocks that do not fit, or a slow first launch, would look the
// same: never sure.
std::optional<Match> FindNotRecorded(const Picture& picture) {
  const Picture::Sum waits = picture.Idle([](const IdleReason& reason) {
    return reason.cause == IdleCauseName(IdleCause::kNotRecorded);
  });
  if (waits.ns == 0) return std::nullopt;
  Match match;
  match.gain_ns = waits.ns;
  match.sentence = fmt::format(
      "The GPU shows no work for {} ({}) while {} submitted already: what it does then "
      "is not in this trace.",
      Duration(waits.ns), Share(waits.ns, picture.wall()),
      waits.gaps == 1 ? "an operation is" : "operations are");
  match.evidence = fmt::format("{}, most before {}", Counted(waits.gaps, "gap", "gaps"),
                               BriefKernel(waits.most));
  return match;
}

}  // namespace rochound::analysis
