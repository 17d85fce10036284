// SPDX-License-Identifier: MIT
#include "analysis/questions/diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/statistics.h"

namespace rochound::analysis {
namespace {

using store::duck::Rows;

constexpr double kSignificant = 0.01;

// What is compared: a name, and what tells rows of one name apart.
struct Group {
  const char* id;
  const char* title;
  std::vector<std::string> keys;  // columns of `sql`
  std::string sql;                // gives the keys and ns; @ is the source's schema
};

using Key = std::vector<std::string>;
struct Pair {
  Sample before, after;
};

base::Result<void> Read(store::duck::Connection& connection, const Group& group,
                        const std::string& schema, Sample Pair::* side,
                        std::map<Key, Pair>& pairs) {
  std::string keys, from = group.sql;
  for (const std::string& key : group.keys) keys += key + ", ";
  for (size_t at = 0; (at = from.find('@', at)) != std::string::npos; at += schema.size())
    from.replace(at, 1, schema);
  ROCHOUND_TRY(Rows rows, connection.Query("SELECT " + keys +
                                           "count(*), avg(ns), coalesce(var_samp(ns), 0) FROM (" +
                                           from + ") GROUP BY ALL"));
  while (true) {
    ROCHOUND_TRY(const bool any, rows.Next());
    if (!any) return {};
    Key key;
    for (size_t i = 0; i < group.keys.size(); ++i) key.emplace_back(rows.Text(i));
    const size_t first = group.keys.size();
    pairs[key].*side = {rows.Int(first), rows.Real(first + 1), rows.Real(first + 2)};
  }
}

std::string Verdict(const Pair& pair, double p) {
  if (pair.before.count == 0) return "new";
  if (pair.after.count == 0) return "gone";
  if (p > kSignificant) return "same";
  return pair.after.mean > pair.before.mean ? "slower" : "faster";
}

base::Result<Table> Compare(store::duck::Connection& connection, const Group& group,
                            uint64_t limit) {
  std::map<Key, Pair> pairs;
  ROCHOUND_CHECK(Read(connection, group, "source0", &Pair::before, pairs));
  ROCHOUND_CHECK(Read(connection, group, "source1", &Pair::after, pairs));
  std::vector<double> p;
  for (const auto& [key, pair] : pairs) p.push_back(WelchP(pair.before, pair.after));
  const std::vector<double> adjusted = HolmAdjusted(p);

  struct Line {
    double change;  // of the total
    std::vector<Value> row;
  };
  std::vector<Line> lines;
  size_t index = 0;
  for (const auto& [key, pair] : pairs) {
    const double probability = adjusted[index++];
    const double before = pair.before.mean * static_cast<double>(pair.before.count);
    const double after = pair.after.mean * static_cast<double>(pair.after.count);
    const bool both = pair.before.count > 0 && pair.after.count > 0;
    Line line{after - before, {}};
    for (const std::string& part : key) line.row.emplace_back(part);
    line.row.emplace_back(pair.before.count);
    line.row.emplace_back(pair.after.count);
    line.row.push_back(pair.before.count > 0 ? Value(pair.before.mean) : Value());
    line.row.push_back(pair.after.count > 0 ? Value(pair.after.mean) : Value());
    line.row.push_back(both && pair.before.mean > 0
                           ? Value(100 * (pair.after.mean / pair.before.mean - 1))
                           : Value());
    line.row.emplace_back(static_cast<int64_t>(std::llround(after - before)));
    line.row.push_back(both ? Value(probability) : Value());
    line.row.emplace_back(Verdict(pair, probability));
    lines.push_back(std::move(line));
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return std::fabs(a.change) > std::fabs(b.change);
  });

  Table table{group.id, group.title, {}, {}, 0};
  for (const std::string& key : group.keys) table.columns.push_back(MakeColumn(key, false));
  for (const char* name : {"calls_before", "calls_after", "mean_before_ns", "mean_after_ns",
                           "change_percent", "total_change_ns", "p"})
    table.columns.push_back(MakeColumn(name, true));
  table.columns.push_back(MakeColumn("verdict", false));
  for (Line& line : lines) {
    if (limit != 0 && table.rows.size() == limit) {
      ++table.more;
      continue;
    }
    table.rows.push_back(std::move(line.row));
  }
  return table;
}

std::vector<Group> Groups() {
  const std::string kernels =
      "FROM @.rochound_dispatch d JOIN @.rocpd_op o ON o.id = d.op_id "
      "JOIN @.rocpd_string s ON s.id = o.description_id WHERE d.timed = 1";
  return {
      {"kernels",
       "Kernels by name",
       {"kernel"},
       "SELECT s.string AS kernel, o.\"end\" - o.start AS ns " + kernels},
      {"shapes",
       "Kernels by name and shape",
       {"kernel", "grid", "workgroup"},
       "SELECT s.string AS kernel, concat_ws('x', d.\"gridX\", d.\"gridY\", d.\"gridZ\") AS grid, "
       "concat_ws('x', d.\"workgroupX\", d.\"workgroupY\", d.\"workgroupZ\") AS workgroup, "
       "o.\"end\" - o.start AS ns " +
           kernels},
      {"calls",
       "Calls by name",
       {"call"},
       "SELECT n.string AS call, a.\"end\" - a.start AS ns FROM @.rocpd_api a "
       "JOIN @.rocpd_string n ON n.id = a.\"apiName_id\" JOIN @.rocpd_string m ON m.id = "
       "a.domain_id WHERE m.string NOT IN ('roctx', 'torch', 'rochound')"},
      {"ranges",
       "Ranges of the program, by name",
       {"\"range\""},
       "SELECT u.string AS \"range\", a.\"end\" - a.start AS ns FROM @.rocpd_api a "
       "JOIN @.rocpd_string m ON m.id = a.domain_id AND m.string IN ('roctx', 'torch') "
       "JOIN @.rocpd_ustring u ON u.id = a.args_id"},
  };
}

}  // namespace

base::Result<Answer> AskDiff(store::TraceDatabase& trace, const AskOptions& options) {
  if (trace.sources().size() != 2) {
    return base::Error{
        "two traces are compared, the one before and the one after: rochound explain diff "
        "before.rpd after.rpd; merge traces of several ranks first"};
  }
  Answer answer;
  answer.notes = {
      "Ordered by what the change costs in all. p: how likely such a difference is by chance "
      "(Welch's test, corrected for the number of rows); slower and faster mean p below 0.01."};
  for (const Group& group : Groups()) {
    ROCHOUND_TRY(Table table, Compare(trace.connection(), group, options.limit));
    answer.tables.push_back(std::move(table));
  }
  return answer;
}

}  // namespace rochound::analysis
