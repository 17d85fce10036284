// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/call_stacks.h"
#include "analysis/table_builder.h"
#include "analysis/trace_rows.h"

namespace rochound::analysis {
namespace {

using base::Result;
using store::duck::Rows;

constexpr size_t kMostPathNames = 64;

// "outermost > ... > innermost"
std::string PathOf(const CallStacks& stacks, uint32_t node) {
  const auto& nodes = stacks.tree.nodes();
  std::vector<uint32_t> names;
  for (; node != 0; node = nodes[node].parent) names.push_back(nodes[node].name);
  std::string path;
  for (size_t i = names.size(); i-- > 0;) {
    if (names.size() > kMostPathNames && i < names.size() - 1 && i >= kMostPathNames) continue;
    if (!path.empty()) path += i + 1 == kMostPathNames ? " > ... > " : " > ";
    path += stacks.NameOf(names[i]);
  }
  return path;
}

// Ids of strings with blanks in between, outermost first. The call itself may be the innermost
// frame, where the runtime's exported function was on the stack; it is known already.
void AppendFrames(std::string_view ids, const Names& names, uint32_t call,
                  std::vector<uint32_t>& functions) {
  while (!ids.empty()) {
    int64_t id = 0;
    const auto read = std::from_chars(ids.data(), ids.data() + ids.size(), id);
    ids.remove_prefix(std::min(ids.size(), static_cast<size_t>(read.ptr - ids.data()) + 1));
    const uint32_t name = names.Of(id);
    if (name == kNoName) continue;
    // How the C library gets to main is the same everywhere.
    if (names.text(name) == "main" || names.text(name).starts_with("main (")) functions.clear();
    functions.push_back(name);
  }
  while (!functions.empty() && functions.back() == call) functions.pop_back();
}

std::vector<Value> Figures(std::string name, const CallTotals& totals) {
  return {std::move(name),      totals.calls,         totals.cpu_inclusive,
          totals.cpu_exclusive, totals.gpu_inclusive, totals.gpu_exclusive};
}

}  // namespace

const std::string& CallStacks::NameOf(uint32_t name) const {
  static const std::string* const more = new std::string("(more)");
  return name < texts.size() ? texts[name] : *more;
}

Result<CallStacks> LoadCallStacks(store::duck::Connection& connection, CallSweep::Sink sink) {
  ROCHOUND_TRY(const Names names, Names::Load(connection));
  const std::string marks = names.IdsWhere(IsMarkDomain);
  const std::string ours =
      names.IdsWhere([](const std::string& text) { return text == "rochound"; });
  const std::string ranges =
      names.IdsWhere([](const std::string& text) { return text == "UserRange"; });

  CallStacks stacks;
  for (uint32_t i = 0; i < names.size(); ++i) stacks.texts.push_back(names.text(i));
  // Messages are never shared in a trace, so equal ones get a number here.
  ROCHOUND_CHECK(connection.Run(
      "CREATE OR REPLACE TEMP TABLE analysis_message AS SELECT id, " + RangeName("string") +
      " AS message FROM rocpd_ustring WHERE id IN (SELECT args_id FROM rocpd_api WHERE"
      " domain_id IN (" +
      marks +
      "));"
      "CREATE OR REPLACE TEMP TABLE analysis_message_number AS SELECT message,"
      " row_number() OVER () - 1 AS number FROM (SELECT DISTINCT message FROM analysis_message)"));
  const size_t first_message = stacks.texts.size();
  {
    ROCHOUND_TRY(Rows rows,
                 connection.Query("SELECT message FROM analysis_message_number ORDER BY number"));
    for (;;) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      stacks.texts.emplace_back(rows.Text(0));
    }
  }
  CallSweep sweep(std::move(sink));
  ROCHOUND_TRY(const int64_t frames, connection.Number("SELECT count(*) FROM rocpd_stackframe"));
  const std::string stacks_of_calls =
      frames == 0 ? "(SELECT 0 AS api_id, NULL AS frames WHERE false)"
                  : "(SELECT api_ptr_id AS api_id,"
                    " string_agg(name_id::VARCHAR, ' ' ORDER BY depth DESC) AS frames"
                    " FROM rocpd_stackframe GROUP BY api_ptr_id)";
  {
    std::vector<uint32_t> functions;
    ROCHOUND_TRY(
        Rows rows,
        connection.Query(
            "SELECT a.id, a.pid, a.tid, a.start, a.\"end\", g.ns, a.apiName_id, m.number, f.frames"
            " FROM rocpd_api a"
            " LEFT JOIN (SELECT l.api_id, sum(o.\"end\" - o.start)::BIGINT AS ns"
            "  FROM rocpd_api_ops l JOIN rocpd_op o ON o.id = l.op_id GROUP BY l.api_id) g"
            "  ON g.api_id = a.id"
            " LEFT JOIN (SELECT t.id, n.number FROM analysis_message t"
            "  JOIN analysis_message_number n USING (message)) m"
            "  ON m.id = CASE WHEN a.domain_id IN (" +
            marks +
            ") THEN a.args_id END"
            " LEFT JOIN " +
            stacks_of_calls +
            " f ON f.api_id = a.id"
            " WHERE (a.domain_id IN (" +
            ours + ")) IS NOT true AND (a.apiName_id IN (" + ranges +
            ")) IS NOT true"
            " ORDER BY a.pid, a.tid, a.start, a.\"end\" DESC, a.id"));
    for (;;) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      const uint32_t name = rows.IsNull(7) ? names.Of(rows.Int(6))
                                           : static_cast<uint32_t>(first_message + rows.Int(7));
      functions.clear();
      if (!rows.IsNull(8)) AppendFrames(rows.Text(8), names, name, functions);
      sweep.Add({.id = rows.Int(0),
                 .pid = rows.Int(1),
                 .tid = rows.Int(2),
                 .start = rows.Int(3),
                 .end = std::max(rows.Int(3), rows.Int(4)),
                 .gpu_ns = rows.Int(5),
                 .name = name == kNoName ? 0 : name,
                 .frames = functions});
    }
  }
  sweep.Finish();
  ROCHOUND_CHECK(connection.Run("DROP TABLE analysis_message; DROP TABLE analysis_message_number"));
  stacks.calls = sweep.calls();
  stacks.deepest = sweep.deepest();
  stacks.names = sweep.names();
  stacks.functions = sweep.functions();
  stacks.tree = std::move(sweep).TakeTree();
  return stacks;
}

Result<Answer> AskCallStack(store::TraceDatabase& trace, const AskOptions& options) {
  ROCHOUND_TRY(const CallStacks stacks, LoadCallStacks(trace.connection()));
  Answer answer;
  answer.notes = {
      "Host time is from start to end, waiting and sleeping included. Inclusive is a call with all "
      "that it called, exclusive is without. GPU time is that of the operations that were "
      "launched.",
      "Ranges that start and stop anywhere are in no stack."};

  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < stacks.names.size(); ++i)
    if (stacks.names[i].calls > 0) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const CallTotals &x = stacks.names[a], &y = stacks.names[b];
    if (x.cpu_inclusive != y.cpu_inclusive) return x.cpu_inclusive > y.cpu_inclusive;
    return stacks.texts[a] < stacks.texts[b];
  });
  TableBuilder names("names", "Calls and ranges by name",
                     {"name", "#calls", "#host_inclusive_ns", "#host_exclusive_ns",
                      "#gpu_inclusive_ns", "#gpu_exclusive_ns"},
                     options.limit);
  for (const uint32_t i : order) names.Row(Figures(stacks.texts[i], stacks.names[i]));
  answer.tables.push_back(names.Take());

  order.clear();
  for (uint32_t i = 0; i < stacks.functions.size(); ++i)
    if (stacks.functions[i].calls > 0) order.push_back(i);
  if (!order.empty()) {
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      const CallTotals &x = stacks.functions[a], &y = stacks.functions[b];
      if (x.cpu_inclusive != y.cpu_inclusive) return x.cpu_inclusive > y.cpu_inclusive;
      return stacks.texts[a] < stacks.texts[b];
    });
    TableBuilder functions("functions", "Functions by the time of the calls made below them",
                           {"function", "#calls", "#host_inclusive_ns", "#gpu_inclusive_ns"},
                           options.limit);
    for (const uint32_t i : order) {
      const CallTotals& totals = stacks.functions[i];
      functions.Row({stacks.texts[i], totals.calls, totals.cpu_inclusive, totals.gpu_inclusive});
    }
    answer.tables.push_back(functions.Take());
  }

  const auto& nodes = stacks.tree.nodes();
  order.clear();
  for (uint32_t i = 1; i < nodes.size(); ++i)
    if (nodes[i].totals.calls > 0) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const CallTotals &x = nodes[a].totals, &y = nodes[b].totals;
    if (x.cpu_exclusive != y.cpu_exclusive) return x.cpu_exclusive > y.cpu_exclusive;
    return a < b;
  });
  TableBuilder paths("paths", "Paths by the time they spent themselves",
                     {"path", "#calls", "#host_inclusive_ns", "#host_exclusive_ns",
                      "#gpu_inclusive_ns", "#gpu_exclusive_ns"},
                     options.limit);
  for (const uint32_t i : order) paths.Row(Figures(PathOf(stacks, i), nodes[i].totals));
  answer.tables.push_back(paths.Take());
  return answer;
}

}  // namespace rochound::analysis
