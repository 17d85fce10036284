// SPDX-License-Identifier: MIT
#include "analysis/questions/diff.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/call_stacks.h"
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

Table Compared(const Group& group, const std::map<Key, Pair>& pairs, uint64_t limit) {
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

base::Result<Table> Compare(store::duck::Connection& connection, const Group& group,
                            uint64_t limit) {
  std::map<Key, Pair> pairs;
  ROCHOUND_CHECK(Read(connection, group, "source0", &Pair::before, pairs));
  ROCHOUND_CHECK(Read(connection, group, "source1", &Pair::after, pairs));
  return Compared(group, pairs, limit);
}

// `step 7` and `step 8` are the same range in two runs; hipMemcpy2D keeps its digit.
std::string WithoutNumbers(const std::string& name) {
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool digit = isdigit(static_cast<unsigned char>(name[i])) != 0;
    const bool inside = i > 0 && isalnum(static_cast<unsigned char>(name[i - 1])) != 0;
    if (!digit || (inside && (text.empty() || text.back() != '#'))) {
      text += name[i];
    } else if (text.empty() || text.back() != '#' || !inside) {
      text += '#';
    }
  }
  return text;
}

// What each path of calls spent itself, that is without what it called.
base::Result<void> ReadStacks(store::duck::Connection& connection, const std::string& schema,
                              Sample Pair::* side, std::map<Key, Pair>& pairs) {
  ROCHOUND_CHECK(connection.Run("SET schema = " + store::duck::Literal(schema)));
  auto loaded = LoadCallStacks(connection);
  ROCHOUND_CHECK(connection.Run("SET schema = 'main'"));
  if (!loaded.ok()) return loaded.error();
  const CallStacks& stacks = loaded.value();
  const std::vector<CallTree::Node>& nodes = stacks.tree.nodes();
  struct Sum {
    int64_t calls = 0;
    double ns = 0, squares = 0;
  };
  std::map<std::string, Sum> sums;
  std::vector<std::string> paths(nodes.size());
  for (size_t i = 1; i < nodes.size(); ++i) {  // a parent comes before its children
    const CallTree::Node& node = nodes[i];
    const std::string name =
        node.name == CallTree::kMore ? "..." : WithoutNumbers(stacks.NameOf(node.name));
    paths[i] = node.parent == 0 ? name : paths[node.parent] + " > " + name;
    Sum& sum = sums[paths[i]];
    sum.calls += node.totals.calls;
    sum.ns += static_cast<double>(node.totals.cpu_exclusive);
    sum.squares += node.totals.cpu_exclusive_squares;
  }
  for (const auto& [path, sum] : sums) {
    const auto count = static_cast<double>(sum.calls);
    if (sum.calls == 0) continue;
    const double mean = sum.ns / count;
    const double variance =
        sum.calls > 1 ? std::max(0.0, (sum.squares - sum.ns * mean) / (count - 1)) : 0;
    pairs[{path}].*side = {sum.calls, mean, variance};
  }
  return {};
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
  std::map<Key, Pair> stacks;
  ROCHOUND_CHECK(ReadStacks(trace.connection(), "source0", &Pair::before, stacks));
  ROCHOUND_CHECK(ReadStacks(trace.connection(), "source1", &Pair::after, stacks));
  answer.tables.push_back(Compared(
      {"stacks", "Call stacks, by the time that each call on them spent itself", {"path"}, ""},
      stacks, options.limit));
  return answer;
}

}  // namespace rochound::analysis
