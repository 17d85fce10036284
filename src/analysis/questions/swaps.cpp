// SPDX-License-Identifier: MIT
#include "analysis/swaps.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/statistics.h"
#include "analysis/table_builder.h"

namespace rochound::analysis {
namespace {

using base::Result;
using store::duck::Rows;

constexpr const char* kDecisions = R"(
  SELECT coalesce(s.string, '') AS kernel, w.decision, w.file, w.reason
  FROM rochound_swap w
  LEFT JOIN rochound_kernel k ON k.id = w.kernel_id
  LEFT JOIN rocpd_string s ON s.id = k.name_id
  ORDER BY w.id)";

// Launches of both sides of each swap, by shape. LDS is left out: the sides differ in it.
constexpr const char* kLaunches = R"(
  WITH pairs AS (
    SELECT kernel_id, candidate_id, any_value(file) AS file,
           bool_or(decision = 'alternating') AS alternating
    FROM rochound_swap WHERE candidate_id IS NOT NULL AND decision IN ('swapped', 'alternating')
    GROUP BY kernel_id, candidate_id),
  sides AS (
    SELECT p.*, d."gridX", d."gridY", d."gridZ", d."workgroupX", d."workgroupY", d."workgroupZ",
           d.kernel_id = p.candidate_id AS candidate, d.timed = 1 AS timed,
           o."end" - o.start AS ns
    FROM pairs p
    JOIN rochound_dispatch d ON d.kernel_id IN (p.kernel_id, p.candidate_id)
    JOIN rocpd_op o ON o.id = d.op_id)
  SELECT s.string, file, alternating,
    count(*) FILTER (NOT candidate), count(*) FILTER (candidate),
    count(*) FILTER (NOT candidate AND timed), coalesce(avg(ns) FILTER (NOT candidate AND timed), 0),
    coalesce(var_samp(ns) FILTER (NOT candidate AND timed), 0),
    count(*) FILTER (candidate AND timed), coalesce(avg(ns) FILTER (candidate AND timed), 0),
    coalesce(var_samp(ns) FILTER (candidate AND timed), 0)
  FROM sides JOIN rochound_kernel k ON k.id = sides.kernel_id
  JOIN rocpd_string s ON s.id = k.name_id
  GROUP BY s.string, file, alternating, sides.kernel_id, candidate_id,
    "gridX", "gridY", "gridZ", "workgroupX", "workgroupY", "workgroupZ")";

struct Compared {
  bool alternating = false;
  int64_t original_launches = 0, candidate_launches = 0;
  std::vector<SamplePair> shapes;
};

// The mean over all shapes of one side; nothing: no launch has a time.
Value MeanNs(const std::vector<SamplePair>& shapes, Sample SamplePair::* side) {
  int64_t count = 0;
  double sum = 0;
  for (const SamplePair& shape : shapes) {
    const Sample& sample = shape.*side;
    count += sample.count;
    sum += sample.mean * static_cast<double>(sample.count);
  }
  return count == 0 ? Value() : Value(sum / static_cast<double>(count));
}

Result<Table> Launches(store::duck::Connection& connection, uint64_t limit) {
  std::map<std::pair<std::string, std::string>, Compared> kernels;
  ROCHOUND_TRY(Rows rows, connection.Query(kLaunches));
  while (true) {
    ROCHOUND_TRY(const bool any, rows.Next());
    if (!any) break;
    Compared& one = kernels[{std::string(rows.Text(0)), std::string(rows.Text(1))}];
    one.alternating |= rows.Int(2) != 0;
    one.original_launches += rows.Int(3);
    one.candidate_launches += rows.Int(4);
    one.shapes.push_back({{rows.Int(5), rows.Real(6), rows.Real(7), 0},
                          {rows.Int(8), rows.Real(9), rows.Real(10), 0}});
  }
  TableBuilder table(
      "launches", "Launches of swapped kernels",
      {"kernel", "file", "#original_launches", "#swapped_launches", "#original_mean_ns",
       "#swapped_mean_ns", "#speedup", "#speedup_low", "#speedup_high"},
      limit);
  for (const auto& [key, one] : kernels) {
    const SpeedUp faster = one.alternating ? SpeedUpOf(one.shapes) : SpeedUp();
    const auto number = [&](double value) { return faster.known ? Value(value) : Value(); };
    table.Row({key.first, key.second, one.original_launches, one.candidate_launches,
               MeanNs(one.shapes, &SamplePair::first), MeanNs(one.shapes, &SamplePair::second),
               number(faster.factor), number(faster.low), number(faster.high)});
  }
  return table.Take();
}

}  // namespace

Result<Answer> AskSwaps(store::TraceDatabase& trace, const AskOptions& options) {
  Answer answer;
  answer.question = "swaps";
  answer.notes = {
      "speedup: time of the original by time of the kernel that took its place, with the interval "
      "that holds the true value in 95 of 100 runs. Only for kernels that alternated (--swap-ab)."};
  ROCHOUND_TRY(Table decisions, ReadTable(trace.connection(), kDecisions, "decisions",
                                          "What became of the kernel cache", options.limit));
  ROCHOUND_TRY(Table launches, Launches(trace.connection(), options.limit));
  answer.tables.push_back(std::move(decisions));
  answer.tables.push_back(std::move(launches));
  return answer;
}

}  // namespace rochound::analysis
