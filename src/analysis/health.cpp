// SPDX-License-Identifier: MIT
#include "analysis/health.h"

#include <algorithm>
#include <map>

#include "analysis/questions.h"
#include "base/units.h"

namespace rochound::analysis {
namespace {

using store::duck::Rows;

// "partial: 601.2 ms of 1.44 s were not recorded: older data was not kept, as asked". The times of
// several processes count once.
base::Result<std::vector<std::string>> Pauses(store::TraceDatabase& trace) {
  struct Reason {
    int64_t ns = 0, reached = INT64_MIN, times = 0;
  };
  std::map<std::string, Reason> reasons;
  int64_t ns = 0, reached = INT64_MIN, from = INT64_MAX, to = INT64_MIN;
  {
    ROCHOUND_TRY(Rows rows,
                 trace.connection().Query("SELECT start, \"end\", why FROM rochound_unrecorded"
                                          " WHERE \"end\" > start ORDER BY start"));
    const auto add = [](int64_t start, int64_t end, int64_t* sum, int64_t* until) {
      *sum += std::max<int64_t>(0, end - std::max(start, *until));
      *until = std::max(*until, end);
    };
    while (true) {
      ROCHOUND_TRY(const bool any, rows.Next());
      if (!any) break;
      const int64_t start = rows.Int(0), end = rows.Int(1);
      Reason& reason = reasons[std::string(rows.Text(2))];
      ++reason.times;
      add(start, end, &reason.ns, &reason.reached);
      add(start, end, &ns, &reached);
      from = std::min(from, start);
    }
  }
  std::vector<std::string> lines;
  if (reasons.empty()) return lines;
  ROCHOUND_TRY(Rows life, trace.connection().Query("SELECT min(start), max(\"end\") FROM "
                                                   "rochound_process"));
  ROCHOUND_TRY(const bool any, life.Next());
  to = reached;
  if (any && !life.IsNull(0)) {
    from = std::min(from, life.Int(0));
    to = std::max(to, life.Int(1));
  }
  std::string line =
      "partial: " + base::TimeText(ns) + " of " + base::TimeText(to - from) + " were not recorded";
  for (const auto& [why, reason] : reasons) {
    line += (&why == &reasons.begin()->first ? ": " : "; ") + why;
    if (reasons.size() > 1) line += ", " + base::TimeText(reason.ns);
    if (reason.times > 1) line += " (" + std::to_string(reason.times) + " times)";
  }
  lines.push_back(std::move(line));
  return lines;
}

}  // namespace

base::Result<std::vector<std::string>> Doubts(store::TraceDatabase& trace) {
  ROCHOUND_TRY(std::vector<std::string> doubts, Pauses(trace));
  ROCHOUND_TRY(Rows rows, trace.connection().Query(
                              "SELECT what, CAST(sum(count) AS BIGINT), note FROM rochound_lost "
                              "WHERE what <> 'time' OR NOT EXISTS (FROM rochound_unrecorded) "
                              "GROUP BY what, note ORDER BY 2 DESC, what, note"));
  while (true) {
    ROCHOUND_TRY(const bool any, rows.Next());
    if (!any) return doubts;
    doubts.push_back("missing: " + std::string(rows.Text(0)) + " (" + std::to_string(rows.Int(1)) +
                     "): " + std::string(rows.Text(2)));
  }
}

base::Result<Answer> AskHealth(store::TraceDatabase& trace, const AskOptions& options) {
  return AskSql(trace, "health", options);
}

}  // namespace rochound::analysis
