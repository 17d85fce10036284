// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"
#include "analysis/idle_sweep.h"

namespace rochound::analysis {

// A call that waits for the GPU uses the CPU as well, so only what a thread used beyond the time of
// its calls is known to be the program's own work.
std::optional<Match> FindCpuWork(const Picture& picture) {
  const Picture::Sum outside = picture.Idle([&](const IdleReason& reason) {
    return reason.cause == IdleCauseName(IdleCause::kOutsideHip) && !picture.InSplit(reason);
  });
  if (outside.ns * 3 < picture.wall()) return std::nullopt;
  const Table& table = picture.Rows(R"(
      WITH thread AS (
        SELECT session, try_cast(split_part(value, ',', 1) AS BIGINT) AS tid,
          try_cast(split_part(value, ',', 2) AS BIGINT) AS cpu_ns
        FROM rochound_fact WHERE name = 'thread'
      ), calls AS (
        SELECT a.id >> 32 AS session, a.tid % 10000000 AS tid, sum(a."end" - a.start) AS ns
        FROM rocpd_api a JOIN rocpd_string d ON d.id = a.domain_id AND d.string = 'hip'
        GROUP BY ALL
      )
      SELECT (t.cpu_ns - c.ns)::BIGINT AS own_ns FROM thread t JOIN calls c USING (session, tid)
      ORDER BY own_ns DESC)");
  if (table.rows.empty()) return std::nullopt;
  const int64_t own = RowView(table, 0).Int("own_ns");
  // On a machine that others use as well a thread gets a part of the time only.
  if (own * 10 < outside.ns * 3) return std::nullopt;
  Match match;
  match.gain_ns = outside.ns;
  match.sentence =
      fmt::format("The CPU computes {} ({}) while the GPU does nothing{}.", Duration(outside.ns),
                  Share(outside.ns, picture.wall()),
                  outside.most.empty() ? "" : fmt::format(", most in range '{}'", outside.most));
  match.evidence = fmt::format("the thread used {} of CPU outside HIP; the GPU is busy {:.1f}%",
                               Duration(own), picture.busy_percent());
  return match;
}

}  // namespace rochound::analysis
