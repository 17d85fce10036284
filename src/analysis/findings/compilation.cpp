// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

// Code that is loaded while the program runs, each time after a while outside HIP: a compiler makes
// it then (Triton, hipRTC, MIOpen). What the host did before a load is not in the trace; it may have
// read a file: never sure.
std::optional<Match> FindCompilation(const Picture& picture) {
  constexpr int64_t kLeastLoads = 3;
  constexpr int64_t kLeastCompileNs = 1'000'000;
  const Table& loads = picture.Rows(R"(
      WITH call AS (
        SELECT a.start, a."end", n.string AS name, lag(a."end") OVER (
          PARTITION BY a.pid, a.tid ORDER BY a.start, a.id) AS before
        FROM rocpd_api a JOIN rocpd_string n ON n.id = a."apiName_id"
        JOIN rocpd_string d ON d.id = a.domain_id AND d.string NOT IN ('roctx', 'torch', 'python')
      )
      SELECT name, before, start, "end" FROM call
      WHERE regexp_matches(name, '(ModuleLoad|LibraryLoad|LinkComplete)') AND start > before
        AND before > (SELECT min(start) FROM rocpd_op) ORDER BY before)");
  std::vector<std::pair<int64_t, int64_t>> idle;
  picture.ForEach("idle", "gaps", [&](const RowView& row) {
    const int64_t begin = picture.facts().begin + row.Int("at_ns");
    if (row.Int("gpu") == picture.gpu()) idle.emplace_back(begin, begin + row.Int("idle_ns"));
  });
  std::sort(idle.begin(), idle.end());
  const auto idle_in = [&](int64_t begin, int64_t end) {
    int64_t ns = 0;
    auto gap = std::upper_bound(idle.begin(), idle.end(), std::pair(begin, INT64_MAX));
    if (gap != idle.begin()) --gap;
    for (; gap != idle.end() && gap->first < end; ++gap)
      ns += std::max<int64_t>(0, std::min(end, gap->second) - std::max(begin, gap->first));
    return ns;
  };
  int64_t compiling = 0, loading = 0, modules = 0;
  std::string name;
  for (size_t i = 0; i < loads.rows.size(); ++i) {
    const RowView row(loads, i);
    const int64_t before = idle_in(row.Int("before"), row.Int("start"));
    if (before < kLeastCompileNs) continue;
    compiling += before;
    loading += idle_in(row.Int("start"), row.Int("end"));
    name = row.Text("name");
    ++modules;
  }
  if (modules < kLeastLoads) return std::nullopt;
  Match match;
  match.gain_ns = compiling + loading;
  match.takes = {{"host-work", compiling}, {"cpu-work", compiling}, {"code-loading", loading}};
  match.sentence = fmt::format(
      "Code is made and loaded while the program runs: the GPU waits {} ({}) before and in {} of {}.",
      Duration(match.gain_ns), Share(match.gain_ns, picture.wall()),
      Counted(modules, "call", "calls"), name);
  match.evidence = fmt::format("{} outside HIP before the calls, {} in them", Duration(compiling),
                               Duration(loading));
  return match;
}

// A library tries variants of a kernel, whose names differ in numbers only, each a few times, and
// uses one of them from then on. That others are not used again may have other reasons: never sure.
std::optional<Match> FindLibrarySearch(const Picture& picture) {
  const Table& table = picture.Rows(fmt::format(
      R"(WITH kernel AS (
        SELECT n.string AS name, regexp_replace(n.string, '[0-9]+', '#', 'g') AS family,
          count(*) AS launches, min(o.start) AS first, max(o."end") AS last,
          sum(o."end" - o.start)::BIGINT AS ns
        FROM rocpd_op o JOIN rocpd_string n ON n.id = o.description_id
        JOIN rocpd_string t ON t.id = o."opType_id" AND t.string = 'KernelExecution'
        WHERE o."gpuId" = {} GROUP BY n.string
      ), used AS (
        SELECT family, arg_max(name, launches) AS name, max(launches) AS launches, max(last) AS last
        FROM kernel GROUP BY family
      )
      SELECT any_value(u.name) AS used, any_value(u.launches) AS launches, count(*) AS tried,
        min(k.first) AS first, max(k.last) AS last, sum(k.ns)::BIGINT AS ns
      FROM kernel k JOIN used u USING (family)
      WHERE k.name <> u.name AND k.launches <= 5 AND k.launches * 4 <= u.launches AND k.last < u.last
      GROUP BY family HAVING count(*) >= 5 ORDER BY max(k.last) - min(k.first) DESC)",
      picture.gpu()));
  if (table.rows.empty()) return std::nullopt;
  const RowView row(table, 0);
  Match match;
  match.gain_ns = row.Int("last") - row.Int("first");
  match.sentence = fmt::format(
      "{} variants of a kernel are tried before one of them is used: {} ({}).",
      row.Int("tried") + 1, Duration(match.gain_ns), Share(match.gain_ns, picture.wall()));
  match.evidence = fmt::format("{}, {} launches; the others run {}", BriefKernel(row.Text("used")),
                               row.Int("launches"), Duration(row.Int("ns")));
  return match;
}

}  // namespace rochound::analysis
