// SPDX-License-Identifier: MIT
#include "analysis/autograd.h"

#include <algorithm>
#include <cstdint>
#include <string>
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

-- What an operator costs. Exclusive: without the operators inside it. outermost: none around it has its name.
CREATE OR REPLACE TABLE found.autograd_cost (
  id BIGINT, cpu_inclusive BIGINT, cpu_exclusive BIGINT, gpu_inclusive BIGINT, gpu_exclusive BIGINT, outermost BIGINT);
)sql";

constexpr const char* kCalls = R"sql(
SELECT a.pid, a.tid, a.start, a."end", a.id, g.id IS NOT NULL, w.ns, coalesce(g.name, '')
FROM rocpd_api a
JOIN rocpd_string n ON n.id = a."apiName_id" AND n.string <> 'UserRange'
LEFT JOIN found.autograd g ON g.id = a.id
LEFT JOIN (
  SELECT l.api_id, sum(o."end" - o.start)::BIGINT AS ns
  FROM rocpd_api_ops l JOIN rocpd_op o ON o.id = l.op_id GROUP BY l.api_id
) w ON w.api_id = a.id
ORDER BY a.pid, a.tid, a.start, a."end" DESC, a.id)sql";

constexpr size_t kNone = SIZE_MAX;

// A call or range that has not ended yet.
struct Open {
  int64_t end;
  size_t operation;  // the innermost operator so far, in the list of open ones
};

struct OpenOperator {
  int64_t id, cpu;
  std::string name;
  bool outermost;
  int64_t cpu_inside = 0, gpu = 0, gpu_inside = 0;
};

}  // namespace

Result<void> FindAutograd(Connection& connection) {
  ROCHOUND_CHECK(connection.Run(kFindOperators));
  ROCHOUND_TRY(const int64_t operators, connection.Number("SELECT count(*) FROM found.autograd"));
  if (operators == 0) return {};
  ROCHOUND_TRY(Connection reader, connection.Sibling());
  ROCHOUND_TRY(Rows rows, reader.Query(kCalls));
  ROCHOUND_TRY(Appender links, connection.Append("found", "autograd_call"));
  ROCHOUND_TRY(Connection other, connection.Sibling());
  ROCHOUND_TRY(Appender costs, other.Append("found", "autograd_cost"));
  std::vector<Open> stack;
  std::vector<OpenOperator> open;  // outermost first
  const auto close_one = [&] {
    const bool is_operator =
        stack.back().operation != kNone &&
        (stack.size() == 1 || stack[stack.size() - 2].operation != stack.back().operation);
    stack.pop_back();
    if (!is_operator) return;
    const OpenOperator done = std::move(open.back());
    open.pop_back();
    costs.Int(done.id)
        .Int(done.cpu)
        .Int(done.cpu - done.cpu_inside)
        .Int(done.gpu + done.gpu_inside)
        .Int(done.gpu)
        .Int(done.outermost ? 1 : 0)
        .EndRow();
    if (open.empty()) return;
    open.back().cpu_inside += done.cpu;
    open.back().gpu_inside += done.gpu + done.gpu_inside;
  };
  int64_t pid = 0, tid = 0;
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) break;
    const bool same_thread = rows.Int(0) == pid && rows.Int(1) == tid;
    while (!stack.empty() && (!same_thread || stack.back().end <= rows.Int(2))) close_one();
    pid = rows.Int(0);
    tid = rows.Int(1);
    size_t operation = stack.empty() ? kNone : stack.back().operation;
    if (!rows.IsNull(6) && operation != kNone) {
      links.Int(rows.Int(4)).Int(open[operation].id).EndRow();
      open[operation].gpu += rows.Int(6);
    }
    if (rows.Int(5) != 0) {
      operation = open.size();
      const std::string name(rows.Text(7));
      const bool outermost = std::none_of(
          open.begin(), open.end(), [&](const OpenOperator& one) { return one.name == name; });
      open.push_back({.id = rows.Int(4),
                      .cpu = rows.Int(3) - rows.Int(2),
                      .name = name,
                      .outermost = outermost});
    }
    stack.push_back({rows.Int(3), operation});
  }
  while (!stack.empty()) close_one();
  ROCHOUND_CHECK(costs.Finish());
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
      {"operators", "Operators, with and without the operators inside them", R"sql(
SELECT g.name AS operator, count(*) AS calls,
  coalesce(sum(c.cpu_inclusive) FILTER (c.outermost = 1), 0)::BIGINT AS cpu_inclusive_ns,
  sum(c.cpu_exclusive)::BIGINT AS cpu_exclusive_ns,
  coalesce(sum(c.gpu_inclusive) FILTER (c.outermost = 1), 0)::BIGINT AS gpu_inclusive_ns,
  sum(c.gpu_exclusive)::BIGINT AS gpu_exclusive_ns, coalesce(sum(k.kernels), 0)::BIGINT AS kernels
FROM found.autograd g
JOIN found.autograd_cost c ON c.id = g.id
LEFT JOIN (
  SELECT l.autograd_id, count(*) AS kernels
  FROM found.autograd_call l JOIN rocpd_api_ops o ON o.api_id = l.api_id
  GROUP BY l.autograd_id
) k ON k.autograd_id = g.id
GROUP BY operator
ORDER BY gpu_exclusive_ns DESC, cpu_exclusive_ns DESC, operator)sql"},
  };
  for (const Part& part : kParts) {
    ROCHOUND_TRY(Table table, ReadTable(connection, part.sql, part.id, part.title, options.limit));
    answer.tables.push_back(std::move(table));
  }
  return answer;
}

}  // namespace rochound::analysis
