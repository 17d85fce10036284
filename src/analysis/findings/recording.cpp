// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

// Calls that follow each other within a microsecond, a great many of them: a recorded call takes
// about as long as that, one that nobody records a few nanoseconds. What the same calls take by
// themselves is not in the trace, so it is never sure.
std::optional<Match> FindRecording(const Picture& picture) {
  constexpr int64_t kMany = 100'000;
  const Table& table = picture.Rows(R"(
      WITH call AS (
        SELECT a.start, a."end", n.string AS name,
          lead(a.start) OVER (PARTITION BY a.pid, a.tid ORDER BY a.start) AS next
        FROM rocpd_api a JOIN rocpd_string d ON d.id = a.domain_id AND d.string = 'hip'
        JOIN rocpd_string n ON n.id = a."apiName_id"
      )
      SELECT name, count(*) AS calls, sum(next - start)::BIGINT AS ns FROM call
      WHERE next - start < 1000 GROUP BY name ORDER BY calls DESC)");
  if (table.rows.empty()) return std::nullopt;
  const RowView most(table, 0);
  if (most.Int("calls") < kMany || most.Int("ns") * 5 < picture.wall()) return std::nullopt;
  Match match;
  match.gain_ns = most.Int("ns");
  match.sentence = fmt::format(
      "{} is called {} times, one directly after the other: most of the {} ({}) is recording it.",
      most.Text("name"), most.Int("calls"), Duration(match.gain_ns),
      Share(match.gain_ns, picture.wall()));
  match.evidence =
      fmt::format("{} from one call to the next", Duration(match.gain_ns / most.Int("calls")));
  return match;
}

}  // namespace rochound::analysis
