// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "analysis/findings/rule.h"
#include "analysis/idle_sweep.h"

namespace rochound::analysis {
namespace {

// How long each GPU computed, and how long one or more did at the same time. Kernels of
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
      (SELECT coalesce(sum(next - time), 0) FROM change WHERE working > 1)::BIGINT AS together_ns,
      (SELECT coalesce(sum(next - time), 0) FROM change WHERE working > 0)::BIGINT AS any_ns
    FROM alone GROUP BY gpu ORDER BY gpu)";

struct Computing {
  int64_t gpus = 0, sum = 0;
  int64_t most = 0, least = INT64_MAX;
  int64_t busiest = 0, idlest = 0;  // GPUs
  int64_t together = 0, any = 0;
};

Computing ReadComputing(const Picture& picture) {
  const Table& table = picture.Rows(kComputing);
  Computing all;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const RowView row(table, i);
    const int64_t busy = row.Int("busy_ns");
    ++all.gpus;
    all.sum += busy;
    all.together = row.Int("together_ns");
    all.any = row.Int("any_ns");
    if (busy < all.least) {
      all.least = busy;
      all.idlest = row.Int("gpu");
    }
    if (busy <= all.most) continue;
    all.most = busy;
    all.busiest = row.Int("gpu");
  }
  return all;
}

std::string Summary(const Computing& all) {
  return fmt::format("{} GPUs, {} of work on average, {} in which two or more worked", all.gpus,
                     Duration(all.sum / all.gpus), Duration(all.together));
}

// What a GPU waited for between its operations.
std::map<std::string, int64_t> WaitsOf(const Picture& picture, int64_t gpu, IdleCause cause,
                                       int64_t* gaps) {
  std::map<std::string, int64_t> waits;
  picture.ForEach("idle", "origins", [&](const RowView& row) {
    const std::string origin = row.Text("origin");
    if (row.Int("gpu") != gpu || row.Text("cause") != IdleCauseName(cause) ||
        origin == GapOriginName(GapOrigin::kFirst) || origin == GapOriginName(GapOrigin::kLast))
      return;
    waits[row.Text("what")] += row.Int("total_ns");
    *gaps += row.Int("pieces");
  });
  return waits;
}

}  // namespace

// GPUs that hand work on, one to the other, and wait for it: in turns, or with some of it side by
// side. If all of it went on side by side, the one with most work would be done as before. It would
// be wrong where each needs what the other has just computed and nothing can be divided: never sure.
std::optional<Match> FindPipelineBubbles(const Picture& picture) {
  constexpr int64_t kOften = 5;
  const Computing all = ReadComputing(picture);
  if (all.gpus < 2) return std::nullopt;
  Match match;
  match.gain_ns = all.any - all.most;
  match.evidence = Summary(all);
  if (all.together * 20 < all.sum - all.most) {
    match.sentence = fmt::format(
        "The GPUs take turns, one works while the others wait: side by side, {} ({}) less.",
        Duration(match.gain_ns), Share(match.gain_ns, picture.wall()));
    return match;
  }
  // That one waits for another's operations is known by the events between their streams.
  int64_t waits = 0, gaps = 0, waiting = 0, longest = 0;
  picture.ForEach("busy", "gpus", [&](const RowView& row) {
    int64_t ns = 0, times = 0;
    for (const auto& [what, one] : WaitsOf(picture, row.Int("gpu"), IdleCause::kDependency, &times))
      ns += one;
    waits += ns;
    gaps += times;
    if (ns <= longest) return;
    longest = ns;
    waiting = row.Int("gpu");
  });
  if (gaps < kOften || waits < match.gain_ns) return std::nullopt;
  match.sentence = fmt::format(
      "The GPUs wait for each other's results, GPU {} for {}: with all of it side by side, {} ({}) "
      "less.",
      waiting, Duration(longest), Duration(match.gain_ns), Share(match.gain_ns, picture.wall()));
  match.evidence += fmt::format("; {} in which one waits", Counted(gaps, "gap", "gaps"));
  return match;
}

// With the work divided evenly the busiest would be done when the mean is. A GPU that has less to do
// because its own thread keeps it waiting is named with what it waits for.
std::optional<Match> FindGpuImbalance(const Picture& picture) {
  const Computing all = ReadComputing(picture);
  if (all.gpus < 2 || FindPipelineBubbles(picture).has_value()) return std::nullopt;
  if (all.least * 10 > all.most * 9) return std::nullopt;
  Match match;
  match.gain_ns = all.most - all.sum / all.gpus;
  match.sentence = fmt::format("GPU {} works {} and GPU {} {}: evenly divided, {} ({}) less.",
                               all.busiest, Duration(all.most), all.idlest, Duration(all.least),
                               Duration(match.gain_ns), Share(match.gain_ns, picture.wall()));
  match.evidence = Summary(all);
  int64_t gaps = 0, outside = 0;
  std::string most;
  const std::map<std::string, int64_t> waits =
      WaitsOf(picture, all.idlest, IdleCause::kOutsideHip, &gaps);
  for (const auto& [what, ns] : waits) {
    outside += ns;
    if (most.empty() || ns > waits.at(most)) most = what;
  }
  if (outside * 2 < all.most - all.least) return match;
  match.sentence +=
      fmt::format(" GPU {} waits {} for the host, which works or waits outside HIP{}.", all.idlest,
                  Duration(outside), most.empty() ? "" : fmt::format(", most in range '{}'", most));
  match.advice =
      fmt::format("Look at what keeps GPU {} waiting, then divide the work.", all.idlest);
  return match;
}

}  // namespace rochound::analysis
