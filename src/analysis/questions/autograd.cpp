// SPDX-License-Identifier: MIT
#include "analysis/autograd.h"

#include <utility>
#include <vector>

namespace rochound::analysis {
namespace {

using base::Result;
using store::duck::Appender;
using store::duck::Connection;
using store::duck::Rows;

constexpr const char* kFindOperators = R"sql(
CREATE SCHEMA IF NOT EXISTS found;

CREATE OR REPLACE TABLE found.autograd AS
SELECT a.id,
  regexp_extract(u.string, '(?s)^(.*?), (?:seq|op_id|sizes|input_op_ids) = ', 1) AS name,
  try_cast(regexp_extract(u.string, ', seq = (-?[0-9]+)', 1) AS BIGINT) AS seq,
  try_cast(regexp_extract(u.string, ', op_id = (-?[0-9]+)', 1) AS BIGINT) AS op_id,
  regexp_extract(u.string, '(?s), sizes = (.*?)(?:, (?:seq|op_id|input_op_ids) = |$)', 1) AS sizes,
  regexp_extract(u.string, '(?s), input_op_ids = (.*?)(?:, (?:seq|op_id|sizes) = |$)', 1) AS input_op_ids
FROM rocpd_api a
JOIN rocpd_string d ON d.id = a.domain_id AND d.string IN ('roctx', 'torch')
JOIN (
  -- Most of a trace's text is arguments of calls: they are read past the ids of ranges, not collected.
  SELECT id, string FROM rocpd_ustring
  WHERE id IN (SELECT r.args_id FROM rocpd_api r JOIN rocpd_string s ON s.id = r.domain_id
               AND s.string IN ('roctx', 'torch'))
    AND regexp_matches(string, ', (seq|op_id|sizes|input_op_ids) = ')
) u ON u.id = a.args_id;

CREATE OR REPLACE TABLE found.autograd_call (api_id BIGINT, autograd_id BIGINT);
)sql";

constexpr const char* kCalls = R"sql(
SELECT a.pid, a.tid, a.start, a."end", a.id, g.id IS NOT NULL,
  a.id IN (SELECT api_id FROM rocpd_api_ops)
FROM rocpd_api a
JOIN rocpd_string n ON n.id = a."apiName_id" AND n.string <> 'UserRange'
LEFT JOIN found.autograd g ON g.id = a.id
ORDER BY a.pid, a.tid, a.start, a."end" DESC, a.id)sql";

}  // namespace

Result<void> FindAutograd(Connection& connection) {
  ROCHOUND_CHECK(connection.Run(kFindOperators));
  ROCHOUND_TRY(const int64_t operators, connection.Number("SELECT count(*) FROM found.autograd"));
  if (operators == 0) return {};
  struct Open {
    int64_t end;
    int64_t autograd;  // the innermost operator so far
  };
  constexpr int64_t kNone = -1;
  std::vector<Open> stack;
  int64_t pid = 0, tid = 0;
  ROCHOUND_TRY(Connection reader, connection.Sibling());
  ROCHOUND_TRY(Rows rows, reader.Query(kCalls));
  ROCHOUND_TRY(Appender links, connection.Append("found", "autograd_call"));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) break;
    if (rows.Int(0) != pid || rows.Int(1) != tid) stack.clear();
    pid = rows.Int(0);
    tid = rows.Int(1);
    while (!stack.empty() && stack.back().end <= rows.Int(2)) stack.pop_back();
    int64_t autograd = stack.empty() ? kNone : stack.back().autograd;
    if (rows.Int(6) != 0 && autograd != kNone) links.Int(rows.Int(4)).Int(autograd).EndRow();
    if (rows.Int(5) != 0) autograd = rows.Int(4);
    stack.push_back({rows.Int(3), autograd});
  }
  return links.Finish();
}

Result<Answer> AskAutograd(store::TraceDatabase& trace, const AskOptions& options) {
  Connection& connection = trace.connection();
  ROCHOUND_CHECK(FindAutograd(connection));
  Answer answer;
  answer.notes = {"A kernel belongs to the innermost operator around the call that launched it.",
                  "Operators are ranges as torch.autograd.profiler.emit_nvtx(record_shapes=True) "
                  "makes them, or "
                  "those of a PyTorch profile."};
  struct Part {
    const char *id, *title, *sql;
  };
  static constexpr Part kParts[] = {
      {"kernels", "Kernels by operator and tensor size", R"sql(
SELECT g.name AS operator, n.string AS kernel, g.sizes, count(*) AS calls,
  sum(o."end" - o.start)::BIGINT / count(*) AS mean_ns, sum(o."end" - o.start)::BIGINT AS total_ns
FROM found.autograd_call c
JOIN found.autograd g ON g.id = c.autograd_id
JOIN rocpd_api_ops l ON l.api_id = c.api_id
JOIN rocpd_op o ON o.id = l.op_id
JOIN rocpd_string t ON t.id = o."opType_id" AND t.string = 'KernelExecution'
JOIN rocpd_string n ON n.id = o.description_id
GROUP BY operator, kernel, g.sizes
ORDER BY total_ns DESC, operator, kernel, g.sizes)sql"},
      {"operators", "Operators", R"sql(
SELECT g.name AS operator, count(*) AS calls, sum(a."end" - a.start)::BIGINT AS cpu_ns,
  coalesce(sum(k.ns), 0)::BIGINT AS gpu_ns, coalesce(sum(k.kernels), 0)::BIGINT AS kernels
FROM found.autograd g
JOIN rocpd_api a ON a.id = g.id
LEFT JOIN (
  SELECT c.autograd_id, sum(o."end" - o.start) AS ns, count(*) AS kernels
  FROM found.autograd_call c
  JOIN rocpd_api_ops l ON l.api_id = c.api_id
  JOIN rocpd_op o ON o.id = l.op_id
  GROUP BY c.autograd_id
) k ON k.autograd_id = g.id
GROUP BY operator
ORDER BY gpu_ns DESC, cpu_ns DESC, operator)sql"},
  };
  for (const Part& part : kParts) {
    ROCHOUND_TRY(Table table, ReadTable(connection, part.sql, part.id, part.title, options.limit));
    answer.tables.push_back(std::move(table));
  }
  return answer;
}

}  // namespace rochound::analysis
