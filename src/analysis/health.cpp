// SPDX-License-Identifier: MIT
#include "analysis/health.h"

#include "analysis/questions.h"

namespace rochound::analysis {

base::Result<std::vector<std::string>> Doubts(store::TraceDatabase& trace) {
  ROCHOUND_TRY(
      store::duck::Rows rows,
      trace.connection().Query("SELECT what, CAST(sum(count) AS BIGINT), note FROM rochound_lost "
                               "GROUP BY what, note ORDER BY 2 DESC, what, note"));
  std::vector<std::string> doubts;
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
