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

constexpr double kSignificantChange = 0.01;
constexpr double kSmallestPercent = 1;  // a change below this is none, however sure it is
constexpr double kSamePercent = 5;      // `same`: a change of more than this can be excluded

// What is compared: a name, and what tells rows of one name apart.
struct Group {
  const char* id;
  const char* title;
  std::vector<std::string> keys;  // columns of `sql`
  std::string sql;                // gives the keys and ns; @ is the source's schema
};

using Key = std::vector<std::string>;

// The runs of a side in which the row occurs: the calls of each.
using Runs = std::vector<Sample>;
struct Pair {
  Runs before, after;
};
using Pairs = std::map<Key, Pair>;

// The sources of a side.
struct Side {
  Runs Pair::* runs;
  size_t first, end;

  size_t count() const { return end - first; }
};

std::string SchemaOf(size_t source) { return "source" + std::to_string(source); }

base::Result<void> Read(store::duck::Connection& connection, const Group& group,
                        const std::string& schema, Runs Pair::* side, Pairs& pairs) {
  std::string keys, from = group.sql;
  for (const std::string& key : group.keys) keys += key + ", ";
  for (size_t at = 0; (at = from.find('@', at)) != std::string::npos; at += schema.size())
    from.replace(at, 1, schema);
  ROCHOUND_TRY(Rows rows,
               connection.Query("SELECT " + keys +
                                "count(*), avg(ns), coalesce(var_samp(ns), 0), min(ns) FROM (" +
                                from + ") GROUP BY ALL"));
  while (true) {
    ROCHOUND_TRY(const bool any, rows.Next());
    if (!any) return {};
    Key key;
    for (size_t i = 0; i < group.keys.size(); ++i) key.emplace_back(rows.Text(i));
    const size_t first = group.keys.size();
    (pairs[key].*side)
        .push_back({rows.Int(first), rows.Real(first + 1), rows.Real(first + 2),
                    static_cast<double>(rows.Int(first + 3))});
  }
}

double TotalOf(const Runs& runs) {
  double total = 0;
  for (const Sample& run : runs) total += run.mean * static_cast<double>(run.count);
  return total;
}

int64_t CallsOf(const Runs& runs) {
  int64_t calls = 0;
  for (const Sample& run : runs) calls += run.count;
  return calls;
}

// What happened to a row: to its calls on the average, and to its fastest ones.
struct Changes {
  Change means, fastest;

  // The one that is surer.
  const Change& Surer() const { return fastest.known && fastest.p < means.p ? fastest : means; }
  // There were two tests to choose from.
  double P() const { return fastest.known ? std::min(1.0, 2 * Surer().p) : means.p; }
  bool Contradict() const {
    return fastest.known && means.by * fastest.by < 0 &&
           std::max(means.p, fastest.p) <= kSignificantChange;
  }
};

std::string Verdict(const Pair& pair, const Changes& changes, double p) {
  if (pair.before.empty()) return "new";
  if (pair.after.empty()) return "gone";
  if (!changes.means.known) return "not known";
  const double percent = 100 * changes.Surer().by;
  if (p <= kSignificantChange && std::fabs(percent) >= kSmallestPercent && !changes.Contradict())
    return percent > 0 ? "slower" : "faster";
  const Change& means = changes.means;
  const bool small = 100 * means.low > -kSamePercent && 100 * means.high < kSamePercent;
  return small ? "same" : "unclear";
}

Table Compared(const Group& group, const Pairs& pairs, const Side& before, const Side& after,
               uint64_t limit) {
  std::vector<Changes> changes;
  std::vector<double> p;
  for (const auto& [key, pair] : pairs) {
    changes.push_back(
        {ChangeOfMeans(pair.before, pair.after), ChangeOfFastest(pair.before, pair.after)});
    if (changes.back().means.known) p.push_back(changes.back().P());
  }
  const std::vector<double> adjusted = HolmAdjusted(p);

  struct Line {
    double change;  // of a run's total
    std::vector<Value> row;
  };
  std::vector<Line> lines;
  size_t index = 0, tested = 0;
  for (const auto& [key, pair] : pairs) {
    const Changes& of_row = changes[index++];
    const Change& change = of_row.means;
    const double probability = change.known ? adjusted[tested++] : 1;
    const double in_all = TotalOf(pair.after) / static_cast<double>(after.count()) -
                          TotalOf(pair.before) / static_cast<double>(before.count());
    Line line{in_all, {}};
    const auto mean = [](const Runs& runs) { return runs.empty() ? Value() : Value(MeanOf(runs)); };
    const auto percent = [](bool known, double by) { return known ? Value(100 * by) : Value(); };
    const auto calls = [](const Runs& runs, const Side& side) {
      return Value(static_cast<int64_t>(
          std::llround(static_cast<double>(CallsOf(runs)) / static_cast<double>(side.count()))));
    };
    for (const std::string& part : key) line.row.emplace_back(part);
    line.row.push_back(calls(pair.before, before));
    line.row.push_back(calls(pair.after, after));
    line.row.push_back(mean(pair.before));
    line.row.push_back(mean(pair.after));
    line.row.push_back(
        percent(!pair.before.empty() && !pair.after.empty() && MeanOf(pair.before) > 0, change.by));
    line.row.push_back(percent(change.known, change.low));
    line.row.push_back(percent(change.known, change.high));
    line.row.push_back(percent(of_row.fastest.known, of_row.fastest.by));
    line.row.emplace_back(static_cast<int64_t>(std::llround(in_all)));
    line.row.push_back(change.known ? Value(probability) : Value());
    line.row.emplace_back(Verdict(pair, of_row, probability));
    lines.push_back(std::move(line));
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return std::fabs(a.change) > std::fabs(b.change);
  });

  Table table{group.id, group.title, {}, {}, 0};
  for (const std::string& key : group.keys) table.columns.push_back(MakeColumn(key, false));
  for (const char* name :
       {"calls_before", "calls_after", "mean_before_ns", "mean_after_ns", "change_percent",
        "low_percent", "high_percent", "fastest_change_percent", "total_change_ns", "p"})
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
                              Runs Pair::* side, Pairs& pairs) {
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
    (pairs[{path}].*side).push_back({sum.calls, mean, variance, 0});
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

// What the whole comes to, in a sentence or two.
std::vector<std::string> Summary(const Table& kernels, const Side& before, const Side& after) {
  const auto runs = [](size_t count) {
    return std::to_string(count) + (count == 1 ? " run" : " runs");
  };
  const std::string sides = runs(before.count()) + " before, " + runs(after.count()) + " after. ";
  if (before.count() + after.count() < 3) {
    return {sides +
            "Times differ from run to run, and one run does not tell by how much: whether a change "
            "comes from the program or from the run cannot be known. Record each side at least "
            "three times (five find smaller changes): rochound explain diff a1.rpd a2.rpd a3.rpd "
            "--against b1.rpd b2.rpd b3.rpd"};
  }
  std::map<std::string, std::vector<std::string>> names;
  for (const std::vector<Value>& row : kernels.rows)
    names[std::get<std::string>(row.back())].push_back(std::get<std::string>(row.front()));
  const auto list = [&](const char* verdict) {
    const std::vector<std::string>& found = names[verdict];
    constexpr size_t kMostNamed = 3;
    std::string text;
    for (size_t i = 0; i < std::min(found.size(), kMostNamed); ++i)
      text += (text.empty() ? "" : ", ") + found[i];
    if (found.size() > kMostNamed)
      text += " and " + std::to_string(found.size() - kMostNamed) + " more";
    return text.empty() ? std::string("none") : text;
  };
  return {
      sides + "Slower kernels: " + list("slower") + ". Faster: " + list("faster") +
          ". Not clear: " + list("unclear") + ".",
      "Ordered by what the change costs in a run. The change lies between low and high with 95% "
      "confidence, by how much the runs of a side differ. p: how likely such a difference is "
      "by chance, corrected for the number of rows; slower and faster mean p below 0.01. same: "
      "at most 5% of change. unclear: more runs would tell."};
}

}  // namespace

base::Result<Answer> AskDiff(store::TraceDatabase& trace, const AskOptions& options) {
  const size_t sources = trace.sources().size();
  size_t before_count = options.before_count;
  if (before_count == 0 && sources == 2) before_count = 1;
  if (before_count == 0 || before_count >= sources) {
    return base::Error{
        "two traces are compared, or several runs of each side: rochound explain diff before.rpd "
        "after.rpd, or rochound explain diff a1.rpd a2.rpd a3.rpd --against b1.rpd b2.rpd b3.rpd; "
        "merge traces of several ranks first"};
  }
  const Side before{&Pair::before, 0, before_count}, after{&Pair::after, before_count, sources};
  Answer answer;
  for (const Group& group : Groups()) {
    Pairs pairs;
    for (const Side& side : {before, after})
      for (size_t source = side.first; source < side.end; ++source)
        ROCHOUND_CHECK(Read(trace.connection(), group, SchemaOf(source), side.runs, pairs));
    if (answer.tables.empty())
      answer.notes = Summary(Compared(group, pairs, before, after, 0), before, after);
    answer.tables.push_back(Compared(group, pairs, before, after, options.limit));
  }
  Pairs stacks;
  for (const Side& side : {before, after})
    for (size_t source = side.first; source < side.end; ++source)
      ROCHOUND_CHECK(ReadStacks(trace.connection(), SchemaOf(source), side.runs, stacks));
  answer.tables.push_back(Compared(
      {"stacks", "Call stacks, by the time that each call on them spent itself", {"path"}, ""},
      stacks, before, after, options.limit));
  return answer;
}

}  // namespace rochound::analysis
