// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

// Monitors are there where telemetry was recorded beside the trace (rocpd_monitor). A GPU that
// works at a lower clock than it has shown takes longer in proportion.
std::optional<Match> FindClockDrop(const Picture& picture) {
  constexpr double kDrop = 0.9;
  const Table& table = picture.Rows(R"(
      WITH clock AS (
        SELECT "deviceId" AS gpu, start, "end", try_cast(value AS DOUBLE) AS mhz
        FROM rocpd_monitor WHERE regexp_matches("monitorType", '(?i)(sclk|gfxclk|clock)')
      ), highest AS (SELECT gpu, max(mhz) AS mhz FROM clock GROUP BY gpu)
      SELECT
        c.gpu, h.mhz AS highest, min(c.mhz) AS lowest,
        sum((least(o."end", c."end") - greatest(o.start, c.start)) * (1 - c.mhz / h.mhz)) AS lost_ns,
        sum((least(o."end", c."end") - greatest(o.start, c.start)) * c.mhz)
          / sum(least(o."end", c."end") - greatest(o.start, c.start)) AS mean
      FROM clock c JOIN highest h USING (gpu)
      JOIN rocpd_op o ON o."gpuId" = c.gpu AND o.start < c."end" AND o."end" > c.start
      WHERE c.mhz > 0
      GROUP BY c.gpu, h.mhz ORDER BY lost_ns DESC)");
  if (table.rows.empty()) return std::nullopt;
  const RowView row(table, 0);
  if (row.Real("mean") > row.Real("highest") * kDrop) return std::nullopt;
  Match match;
  match.gain_ns = std::llround(row.Real("lost_ns"));
  match.sentence = fmt::format("GPU {} ran at {:.0f} MHz on average while it had {:.0f}: {} ({}).",
                               row.Int("gpu"), row.Real("mean"), row.Real("highest"),
                               Duration(match.gain_ns), Share(match.gain_ns, picture.wall()));
  match.evidence = fmt::format("lowest {:.0f} MHz while it worked", row.Real("lowest"));
  return match;
}

}  // namespace rochound::analysis
