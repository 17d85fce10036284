// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

// What the host did between one launch and the next that is no launching. What that is the trace
// tells by ranges only. It would be wrong where the thread that launched did nothing because
// another had to come first; so it says "works or waits".
std::optional<Match> FindHostWork(const Picture& picture) {
  const auto is_hosts = [&](const IdleReason& reason) {
    return picture.OwnerOf(reason) == Picture::Owner::kHost;
  };
  const Picture::Sum outside = picture.Idle(is_hosts);
  if (outside.ns == 0 || FindCpuWork(picture).has_value()) return std::nullopt;
  const Picture::Sum most = picture.Idle(
      [&](const IdleReason& reason) { return is_hosts(reason) && reason.what == outside.most; });
  Match match;
  match.gain_ns = outside.ns;
  match.sentence =
      fmt::format("The GPU waits {} ({}) for the host, which works or waits outside HIP{}.",
                  Duration(outside.ns), Share(outside.ns, picture.wall()),
                  most.most.empty() ? "" : fmt::format(", most in range '{}'", most.most));
  match.evidence =
      fmt::format("{}{} in {}", most.most.empty() ? "" : fmt::format("'{}': ", most.most),
                  Duration(most.ns), Counted(most.pieces, "gap", "gaps"));
  if (most.most.empty()) {
    match.evidence += "; no range of the program is open then";
    match.advice =
        "Mark the program's parts with roctx ranges, record again, and see which part it is.";
  }
  return match;
}

}  // namespace rochound::analysis
