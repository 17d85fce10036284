// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"
#include "store/rpd/hang_limit.h"

namespace rochound::analysis {

// Of several in a queue the first is the one that the others wait for: it was submitted longest
// before the end. A program that is stopped has kernels in flight that nothing is wrong with.
std::optional<Match> FindUnfinishedKernel(const Picture& picture) {
  const Table& table = picture.Rows(R"(
      SELECT s.string AS name, o."end" - least(o.start, coalesce(d.submit, o.start)) AS submitted,
        o."end" - o.start AS running, coalesce((
          SELECT max(p."end" - p.start) FROM rocpd_op p WHERE p.description_id = o.description_id
            AND p.id NOT IN (SELECT id FROM rochound_unfinished WHERE what IN ('kernel', 'copy'))
        ), 0) AS longest
      FROM rochound_unfinished u JOIN rocpd_op o ON o.id = u.id
      JOIN rocpd_string s ON s.id = o.description_id
      LEFT JOIN rochound_dispatch d ON d.op_id = o.id
      WHERE u.what = 'kernel' ORDER BY submitted DESC, u.id)");
  if (table.rows.empty()) return std::nullopt;
  const RowView first(table, 0);
  const std::string name = BriefKernel(first.Text("name"));
  const int64_t longest = first.Int("longest");
  Match match;
  match.gain_ns = first.Int("submitted");
  match.evidence = fmt::format(
      "{} had not finished", Counted(static_cast<int64_t>(table.rows.size()), "kernel", "kernels"));
  if (longest > 0)
    match.evidence += fmt::format("; its other launches took {} at most", Duration(longest));
  if (store::LooksHung(first.Int("running"), longest)) {
    match.sentence = fmt::format("Kernel {} was submitted {} before the end and never finished.",
                                 name, Duration(match.gain_ns));
    // With nothing to compare it to, it may be a long one.
    match.confidence = longest > 0 ? Confidence::kSure : Confidence::kLikely;
    return match;
  }
  match.sentence = fmt::format("Kernel {} was in flight when the program ended.", name);
  match.advice = "Wait for the GPU before the program ends, if its results are needed.";
  match.confidence = Confidence::kNote;
  return match;
}

}  // namespace rochound::analysis
