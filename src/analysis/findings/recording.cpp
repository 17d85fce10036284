// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

// Calls that follow each other within a microsecond, a great many of them: a recorded call takes
// about as long as that, one that nobody records a few nanoseconds. A few take longer, where the
// thread lost its CPU or waited for room in the log. The time in and between them is told here
// only. What the same calls take by themselves is not in the trace, so it is never sure.
std::optional<Match> FindRecording(const Picture& picture) {
  constexpr int64_t kMany = 100'000;
  const Table& table = picture.Rows(R"(
      WITH call AS (
        SELECT a.start, a."end", n.string AS name,
          lead(a.start) OVER turn AS next, lead(n.string) OVER turn AS next_name
        FROM rocpd_api a JOIN rocpd_string d ON d.id = a.domain_id AND d.string = 'hip'
        JOIN rocpd_string n ON n.id = a."apiName_id"
        WINDOW turn AS (PARTITION BY a.pid, a.tid ORDER BY a.start, a.id)
      )
      SELECT name, count(*) AS calls, sum(next - start)::BIGINT AS ns,
        sum(greatest(0, next - "end"))::BIGINT AS between_ns
      FROM call WHERE next_name = name AND next - start < 20000000
      GROUP BY name HAVING median(next - start) < 1000 ORDER BY calls DESC)");
  if (table.rows.empty()) return std::nullopt;
  const RowView most(table, 0);
  if (most.Int("calls") < kMany || most.Int("ns") * 5 < picture.wall()) return std::nullopt;
  Match match;
  match.gain_ns = most.Int("ns");
  const int64_t between = most.Int("between_ns");
  match.takes = {
      {"host-work", between}, {"cpu-work", between}, {"other-call", match.gain_ns - between}};
  match.sentence = fmt::format(
      "{} is called {} times, one directly after the other: most of the {} ({}) is recording it.",
      most.Text("name"), most.Int("calls"), Duration(match.gain_ns),
      Share(match.gain_ns, picture.wall()));
  match.evidence =
      fmt::format("{} from one call to the next", Duration(match.gain_ns / most.Int("calls")));
  return match;
}

}  // namespace rochound::analysis
