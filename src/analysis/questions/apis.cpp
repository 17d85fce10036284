// SPDX-License-Identifier: MIT
#include "analysis/apis.h"

#include <array>
#include <map>
#include <vector>

#include "analysis/call_tree.h"

namespace rochound::analysis {
namespace {

using base::Result;
using store::duck::Appender;
using store::duck::Connection;
using store::duck::Rows;

// Calls of an upper layer contain those of a lower one: HIP's contain HSA's, RCCL's contain HIP's.
constexpr const char* kLayers = R"sql(
SELECT count(DISTINCT d.string) FROM (SELECT DISTINCT domain_id FROM rocpd_api) a
JOIN rocpd_string d ON d.id = a.domain_id AND d.string NOT IN ('roctx', 'torch', 'rochound'))sql";

constexpr const char* kCalls = R"sql(
SELECT a.id, a.pid, a.tid, a.start, a."end", a.domain_id, a.category_id, a."apiName_id"
FROM rocpd_api a
JOIN rocpd_string d ON d.id = a.domain_id AND d.string NOT IN ('roctx', 'torch', 'rochound')
ORDER BY a.pid, a.tid, a.start, a."end" DESC, a.id)sql";

// What calls of each kind took without the calls they contain, where calls contain others.
Result<void> FindOwnTimes(Connection& connection) {
  ROCHOUND_CHECK(
      connection.Run("CREATE SCHEMA IF NOT EXISTS found;"
                     "CREATE OR REPLACE TABLE found.own_time (domain_id BIGINT, category_id BIGINT,"
                     " \"apiName_id\" BIGINT, own_ns BIGINT)"));
  ROCHOUND_TRY(const int64_t layers, connection.Number(kLayers));
  if (layers < 2) return {};
  std::map<std::array<int64_t, 3>, uint32_t> numbers;
  std::vector<std::array<int64_t, 3>> kinds;
  CallSweep sweep;
  {
    ROCHOUND_TRY(Rows rows, connection.Query(kCalls));
    for (;;) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      const std::array kind = {rows.Int(5), rows.Int(6), rows.Int(7)};
      const auto [at, is_new] = numbers.emplace(kind, static_cast<uint32_t>(kinds.size()));
      if (is_new) kinds.push_back(kind);
      sweep.Add({.id = rows.Int(0),
                 .pid = rows.Int(1),
                 .tid = rows.Int(2),
                 .start = rows.Int(3),
                 .end = rows.Int(4),
                 .name = at->second});
    }
  }
  sweep.Finish();
  ROCHOUND_TRY(Appender own, connection.Append("found", "own_time"));
  for (size_t i = 0; i < sweep.names().size(); ++i) {
    for (const int64_t id : kinds[i]) own.Int(id);
    own.Int(sweep.names()[i].cpu_exclusive).EndRow();
  }
  return own.Finish();
}

}  // namespace

Result<Answer> AskApis(store::TraceDatabase& trace, const AskOptions& options) {
  ROCHOUND_CHECK(FindOwnTimes(trace.connection()));
  return AskSql(trace, "apis", options);
}

}  // namespace rochound::analysis
