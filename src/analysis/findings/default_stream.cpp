// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

// Work of the default stream and of streams that were created as blocking ones waits for each
// other. Counted is what was submitted while the other side still ran: it was ready, and held.
std::optional<Match> FindDefaultStream(const Picture& picture) {
  const Table& table = picture.Rows(R"(
      WITH created AS (
        SELECT DISTINCT a.pid, lower(regexp_extract(u.string, '\*stream=(0x[0-9a-fA-F]+)', 1)) AS stream
        FROM rocpd_api a
        JOIN rocpd_string n ON n.id = a."apiName_id" AND n.string LIKE 'hipStreamCreate%'
        JOIN rocpd_ustring u ON u.id = a.args_id
        WHERE coalesce(nullif(regexp_extract(u.string, '(?:^|\|)flags=([0-9]+)', 1), ''), '0') = '0'
      ), work AS (
        SELECT o.id, o."gpuId" AS gpu, a.pid, o.start, o."end", d.submit,
          lower(k.stream) IN ('', '0x0', '0', '0x1') AS is_default, c.stream IS NOT NULL AS is_blocking
        FROM rochound_dispatch d
        JOIN rocpd_op o ON o.id = d.op_id
        JOIN rocpd_string t ON t.id = o."opType_id" AND t.string = 'KernelExecution'
        JOIN rocpd_api a ON a.id = d.api_id
        JOIN rocpd_kernelapi k ON k.api_ptr_id = a.id
        LEFT JOIN created c ON c.pid = a.pid AND c.stream = lower(k.stream)
      ), ordered AS (
        SELECT *,
          lag("end") OVER turn AS before_end, lag(start) OVER turn AS before_start,
          lag(is_default) OVER turn AS before_default
        FROM work WHERE is_default OR is_blocking
        WINDOW turn AS (PARTITION BY pid, gpu ORDER BY start, id)
      )
      SELECT
        count(*) FILTER (is_default) AS defaults, count(*) FILTER (NOT is_default) AS others,
        coalesce(sum("end" - start) FILTER (is_default), 0)::BIGINT AS default_ns,
        coalesce(sum("end" - start) FILTER (NOT is_default), 0)::BIGINT AS other_ns,
        count(*) FILTER (is_default <> before_default AND submit < before_end) AS held,
        coalesce(sum(greatest(0, before_end - greatest(submit, before_start)))
          FILTER (is_default <> before_default AND submit < before_end), 0)::BIGINT AS held_ns
      FROM ordered)");
  if (table.rows.empty()) return std::nullopt;
  const RowView row(table, 0);
  if (row.Int("held") < 4) return std::nullopt;
  Match match;
  // Side by side, the shorter side would be hidden by the longer one.
  match.gain_ns = std::min({row.Int("default_ns"), row.Int("other_ns"), row.Int("held_ns")});
  match.sentence =
      fmt::format("The default stream and others wait for each other: side by side, {} ({}) less.",
                  Duration(match.gain_ns), Share(match.gain_ns, picture.wall()));
  match.evidence = fmt::format(
      "{} kernels were held; default stream {} in {} kernels, blocking streams {} in {}",
      row.Int("held"), Duration(row.Int("default_ns")), row.Int("defaults"),
      Duration(row.Int("other_ns")), row.Int("others"));
  return match;
}

}  // namespace rochound::analysis
