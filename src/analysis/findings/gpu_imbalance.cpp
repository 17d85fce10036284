// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "analysis/findings/rule.h"

namespace rochound::analysis {
namespace {

// How long each GPU computed, and how long a GPU did so while another one did. Kernels of
// collectives wait for the other GPUs: that is no work that could be divided.
constexpr const char* kComputing = R"(
    WITH piece AS (
      SELECT o."gpuId" AS gpu, o.start, o."end", max(o."end") OVER (
        PARTITION BY o."gpuId" ORDER BY o.start, o.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
      FROM rocpd_op o JOIN rocpd_string s ON s.id = o.description_id
      WHERE o."end" > o.start AND NOT regexp_matches(s.string, '(?i)(nccl|rccl)')
    ), alone AS (
      SELECT gpu, greatest(start, coalesce(before, start)) AS start, "end" FROM piece
      WHERE before IS NULL OR "end" > before
    ), change AS (
      SELECT time, sum(sum(step)) OVER (ORDER BY time) AS working, lead(time) OVER (ORDER BY time) AS next
      FROM (SELECT start AS time, 1 AS step FROM alone UNION ALL SELECT "end", -1 FROM alone) GROUP BY time
    )
    SELECT gpu, sum("end" - start)::BIGINT AS busy_ns,
      (SELECT coalesce(sum(next - time), 0) FROM change WHERE working > 1)::BIGINT AS together_ns
    FROM alone GROUP BY gpu ORDER BY gpu)";

}  // namespace

std::optional<Match> FindGpuImbalance(const Picture& picture) {
  const Table& table = picture.Rows(kComputing);
  int64_t gpus = 0, sum = 0, most = 0, least = INT64_MAX, busiest = 0, together = 0;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const RowView row(table, i);
    const int64_t busy = row.Int("busy_ns");
    ++gpus;
    sum += busy;
    least = std::min(least, busy);
    together = row.Int("together_ns");
    if (busy <= most) continue;
    most = busy;
    busiest = row.Int("gpu");
  }
  if (gpus < 2) return std::nullopt;
  Match match;
  match.evidence = fmt::format("{} GPUs, {} of work on average, {} in which two or more worked",
                               gpus, Duration(sum / gpus), Duration(together));
  // One after the other: as long as they wait for each other, dividing the work gives nothing.
  if (together * 20 < sum - most) {
    match.gain_ns = sum - most;
    match.sentence = fmt::format(
        "The GPUs take turns, one works while the others wait: side by side, {} ({}) less.",
        Duration(match.gain_ns), Share(match.gain_ns, picture.wall()));
    match.advice =
        "Give each GPU work while the others have theirs, by smaller parts (micro-batches).";
    return match;
  }
  // With the work divided evenly the busiest would be done when the mean is.
  if (least * 10 > most * 9) return std::nullopt;
  match.gain_ns = most - sum / gpus;
  match.sentence = fmt::format("GPU {} works {} and another {}: evenly divided, {} ({}) less.",
                               busiest, Duration(most), Duration(least), Duration(match.gain_ns),
                               Share(match.gain_ns, picture.wall()));
  return match;
}

}  // namespace rochound::analysis
