// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

std::optional<Match> FindLostRecords(const Picture& picture) {
  int64_t lost = 0, untimed = 0;
  std::string most;
  picture.ForEach("health", "lost", [&](const RowView& row) {
    // Times that were not recorded, as asked, are no loss.
    if (row.Text("what") == "time") return;
    // A copy without its time is still in the trace.
    if (row.Text("what").find("times") != std::string::npos) {
      untimed += row.Int("count");
      return;
    }
    if (most.empty()) most = row.Text("what");
    lost += row.Int("count");
  });
  if (lost == 0 && untimed == 0) return std::nullopt;
  Match match;
  if (lost == 0) {
    match.confidence = Confidence::kNote;
    match.sentence = fmt::format("The GPU's times of {} are missing.",
                                 Counted(untimed, "operation", "operations"));
    match.evidence = "what they took is left out of all sums";
    return match;
  }
  match.sentence = fmt::format("{} missing from the trace: the figures are of the rest.",
                               Counted(lost, "record is", "records are"));
  match.evidence = fmt::format("most of them: {}", most);
  return match;
}

}  // namespace rochound::analysis
