// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/rule.h"
#include "analysis/idle_sweep.h"

namespace rochound::analysis {
namespace {

Picture::Sum Of(const Picture& picture, IdleCause cause) {
  return picture.Idle(
      [&](const IdleReason& reason) { return reason.cause == IdleCauseName(cause); });
}

}  // namespace

// Calls that load code, and the first launches of code objects, which load them. It would be wrong
// where it is not known which launch is the first of its code object: likely then.
std::optional<Match> FindCodeLoading(const Picture& picture) {
  const Picture::Sum loading = Of(picture, IdleCause::kCodeLoading);
  if (loading.ns == 0) return std::nullopt;
  Match match;
  match.gain_ns = loading.ns;
  // Every program loads its own code once.
  if (loading.pieces < 5 && loading.ns * 2 < picture.wall()) match.confidence = Confidence::kNote;
  match.sentence = fmt::format("The GPU waits {} ({}) while code is loaded, once for each module.",
                               Duration(loading.ns), Share(loading.ns, picture.wall()));
  const Table& known =
      picture.Rows("SELECT 1 FROM rochound_kernel WHERE \"codeObject\" > 0 LIMIT 1");
  // A first launch may be slow for other reasons.
  if (known.rows.empty()) match.confidence = std::max(match.confidence, Confidence::kLikely);
  match.evidence =
      fmt::format("{}, most in {}", Counted(loading.pieces, "gap", "gaps"), loading.most);
  return match;
}

std::optional<Match> FindInitialisation(const Picture& picture) {
  const Picture::Sum set_up = Of(picture, IdleCause::kInitialisation);
  if (set_up.ns == 0) return std::nullopt;
  Match match;
  match.gain_ns = set_up.ns;
  match.sentence = fmt::format("{} ({}) are the runtime's initialisation.", Duration(set_up.ns),
                               Share(set_up.ns, picture.wall()));
  match.evidence = fmt::format("most in {}", set_up.most);
  return match;
}

}  // namespace rochound::analysis
