// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

// How much CPU time a thread used is known for its whole life, and not when it used it. All the
// time in which it was not outside HIP beside an idle GPU it may have computed as well, so only
// what it used beyond that is known to be used there. On a machine that others use as well a thread
// gets a part of the time only, so a third is enough; it is likely, never sure.
std::optional<Match> FindCpuWork(const Picture& picture) {
  const Picture::Sum outside = picture.Idle(
      [&](const IdleReason& reason) { return picture.OwnerOf(reason) == Picture::Owner::kHost; });
  if (outside.ns * 3 < picture.wall()) return std::nullopt;
  // The thread that launched most.
  const Table& table = picture.Rows(R"(
      WITH thread AS (
        SELECT session, try_cast(split_part(value, ',', 1) AS BIGINT) AS tid,
          try_cast(split_part(value, ',', 2) AS BIGINT) AS cpu_ns
        FROM rochound_fact WHERE name = 'thread'
      ), launched AS (
        SELECT a.id >> 32 AS session, a.tid % 10000000 AS tid, count(*) AS launches
        FROM rochound_dispatch d JOIN rocpd_api a ON a.id = d.api_id GROUP BY ALL
      )
      SELECT t.cpu_ns, p."end" - p.start AS life_ns FROM thread t JOIN launched l USING (session, tid)
      JOIN rochound_process p USING (session) ORDER BY l.launches DESC LIMIT 1)");
  if (table.rows.empty()) return std::nullopt;
  const RowView thread(table, 0);
  const int64_t used = thread.Int("cpu_ns") - (thread.Int("life_ns") - outside.ns);
  if (used * 10 < outside.ns * 3) return std::nullopt;
  Match match;
  match.gain_ns = outside.ns;
  match.sentence =
      fmt::format("The CPU computes {} ({}) while the GPU does nothing{}.", Duration(outside.ns),
                  Share(outside.ns, picture.wall()),
                  outside.most.empty() ? "" : fmt::format(", most in range '{}'", outside.most));
  match.evidence = fmt::format(
      "the thread used {} of CPU in {}, at least {} of it there; the GPU is busy {:.1f}%",
      Duration(thread.Int("cpu_ns")), Duration(thread.Int("life_ns")), Duration(used),
      picture.busy_percent());
  return match;
}

}  // namespace rochound::analysis
