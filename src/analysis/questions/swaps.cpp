// SPDX-License-Identifier: MIT
#include "analysis/swaps.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/statistics.h"
#include "analysis/table_builder.h"
#include "analysis/trace_facts.h"

namespace rochound::analysis {
namespace {

using base::Result;
using store::duck::Rows;

constexpr const char* kDecisions = R"(
  SELECT coalesce(s.string, '') AS kernel, w.decision, w.file, w.reason
  FROM rochound_swap w
  LEFT JOIN rochound_kernel k ON k.id = w.kernel_id
  LEFT JOIN rocpd_string s ON s.id = k.name_id
  WHERE w.decision NOT IN ('equal', 'different', 'not verified')
  ORDER BY w.id)";

constexpr const char* kComparisons = R"(
  SELECT coalesce(s.string, '') AS kernel, w.file, w.decision AS result, w.reason AS detail
  FROM rochound_swap w
  LEFT JOIN rochound_kernel k ON k.id = w.kernel_id
  LEFT JOIN rocpd_string s ON s.id = k.name_id
  WHERE w.decision IN ('equal', 'different', 'not verified')
  ORDER BY w.id)";

// Launches of both sides of each swap, in the order in which they ran.
constexpr const char* kSides = R"(
  WITH pairs AS (
    SELECT kernel_id, candidate_id, any_value(file) AS file,
           bool_or(decision = 'alternating') AS alternating
    FROM rochound_swap WHERE candidate_id IS NOT NULL AND decision IN ('swapped', 'alternating')
    GROUP BY kernel_id, candidate_id),
  sides AS (
    SELECT p.*, d."gridX", d."gridY", d."gridZ", d."workgroupX", d."workgroupY", d."workgroupZ",
           d.kernel_id = p.candidate_id AS candidate, d.timed = 1 AS timed, o.id AS op_id, o.start,
           o."end" - o.start AS ns, s.string AS name
    FROM pairs p
    JOIN rochound_dispatch d ON d.kernel_id IN (p.kernel_id, p.candidate_id)
    JOIN rocpd_op o ON o.id = d.op_id
    JOIN rochound_kernel k ON k.id = p.kernel_id
    JOIN rocpd_string s ON s.id = k.name_id))";

constexpr const char* kLaunches = R"(
  SELECT name, file, count(*) FILTER (NOT candidate), count(*) FILTER (candidate),
    avg(ns) FILTER (NOT candidate AND timed), avg(ns) FILTER (candidate AND timed)
  FROM sides GROUP BY name, file ORDER BY name, file)";

// The n-th launch of the original and the n-th of the candidate, of one shape, are neighbours. LDS
// is no part of a shape: the sides differ in it.
constexpr const char* kQuotients = R"(,
  numbered AS (
    SELECT *, row_number() OVER (
      PARTITION BY kernel_id, candidate_id, candidate, "gridX", "gridY", "gridZ", "workgroupX",
        "workgroupY", "workgroupZ" ORDER BY start, op_id) AS number
    FROM sides WHERE alternating)
  SELECT a.name, a.file, CAST(a.ns AS DOUBLE) / b.ns
  FROM numbered a JOIN numbered b
    USING (kernel_id, candidate_id, number, "gridX", "gridY", "gridZ", "workgroupX", "workgroupY",
           "workgroupZ")
  WHERE NOT a.candidate AND b.candidate AND a.timed AND b.timed AND b.ns > 0)";

Result<Table> Launches(store::duck::Connection& connection, const std::string& ratio,
                       uint64_t limit) {
  std::map<std::pair<std::string, std::string>, std::vector<double>> quotients;
  ROCHOUND_TRY(Rows pairs, connection.Query(std::string(kSides) + kQuotients));
  while (true) {
    ROCHOUND_TRY(const bool any, pairs.Next());
    if (!any) break;
    quotients[{std::string(pairs.Text(0)), std::string(pairs.Text(1))}].push_back(pairs.Real(2));
  }
  TableBuilder table(
      "launches", "Launches of swapped kernels",
      {"kernel", "file", "#original_launches", "#swapped_launches", "#original_mean_ns",
       "#swapped_mean_ns", "#" + ratio, "#" + ratio + "_low", "#" + ratio + "_high"},
      limit);
  ROCHOUND_TRY(Rows rows, connection.Query(std::string(kSides) + kLaunches));
  while (true) {
    ROCHOUND_TRY(const bool any, rows.Next());
    if (!any) break;
    const std::string kernel(rows.Text(0)), file(rows.Text(1));
    const SpeedUp faster = SpeedUpOf(std::move(quotients[{kernel, file}]));
    const auto number = [&](double value) { return faster.known ? Value(value) : Value(); };
    const auto mean = [&](size_t column) {
      return rows.IsNull(column) ? Value() : Value(rows.Real(column));
    };
    table.Row({kernel, file, rows.Int(2), rows.Int(3), mean(4), mean(5), number(faster.factor),
               number(faster.low), number(faster.high)});
  }
  return table.Take();
}

}  // namespace

Result<Answer> AskSwaps(store::TraceDatabase& trace, const AskOptions& options) {
  Answer answer;
  answer.question = "swaps";
  const bool software = OnSoftwareGpu(trace);
  const std::string ratio = software ? "interpreter_ratio" : "speedup";
  answer.notes = {
      ratio +
      ": time of the original by time of the kernel that took its place, the median of "
      "neighbouring launches, with its 95% interval. Only for kernels that alternated (--swap-ab) "
      "six times or more."};
  if (software)
    answer.notes.push_back(
        "The times are those of a software GPU's interpreter: no speed-up on silicon follows.");
  ROCHOUND_TRY(Table decisions, ReadTable(trace.connection(), kDecisions, "decisions",
                                          "What became of the kernel cache", options.limit));
  ROCHOUND_TRY(Table launches, Launches(trace.connection(), ratio, options.limit));
  answer.tables.push_back(std::move(decisions));
  answer.tables.push_back(std::move(launches));
  ROCHOUND_TRY(Table comparisons,
               ReadTable(trace.connection(), kComparisons, "comparisons",
                         "Results compared with the original's (--swap-verify)", options.limit));
  if (!comparisons.rows.empty()) answer.tables.push_back(std::move(comparisons));
  return answer;
}

}  // namespace rochound::analysis
