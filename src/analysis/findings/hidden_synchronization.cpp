// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <string>
#include <vector>

#include "analysis/findings/rule.h"
#include "analysis/idle_sweep.h"
#include "analysis/trace_rows.h"

namespace rochound::analysis {
namespace {

// Ranges that a call was made in, the innermost first.
std::vector<std::string> RangesAround(const Picture& picture, const RowView& drain) {
  const Table& table = picture.Rows(fmt::format(
      R"(SELECT {0} AS name FROM rocpd_api a
         JOIN rocpd_string d ON d.id = a.domain_id AND d.string IN ('roctx', 'torch', 'python')
         JOIN rocpd_ustring u ON u.id = a.args_id
         WHERE a.pid = {1} AND a.tid = {2} AND a.start <= {3} AND a."end" > {3}
         ORDER BY a.start DESC, a."end")",
      RangeName("u.string"), drain.Int("pid"), drain.Int("tid"),
      picture.facts().begin + drain.Int("longest_at_ns")));
  std::vector<std::string> names;
  for (size_t i = 0; i < table.rows.size(); ++i) names.push_back(RowView(table, i).Text("name"));
  return names;
}

// The operator and the line of the program, as far as ranges tell: of the framework's operators the
// outermost, of lines the innermost that is not the framework's own, else the innermost range.
std::string PlaceOf(const std::vector<std::string>& ranges) {
  std::string operation, line, range;
  for (const std::string& name : ranges) {
    const bool is_line = name.find(".py(") != std::string::npos;
    if (name.starts_with("aten::"))
      operation = name;
    else if (is_line && line.empty() && !name.starts_with("torch/"))
      line = name;
    else if (!is_line && range.empty() && !name.starts_with("<built-in"))
      range = name;
  }
  if (!operation.empty() && !line.empty()) return fmt::format("{} at {}", operation, line);
  if (!operation.empty()) return operation;
  return line.empty() ? range : line;
}

}  // namespace

// The host copies a few bytes that a kernel has just computed, and waits for them (.item(), .cpu(),
// nonzero and their like): the GPU is empty when it goes on. It is known from the trace that the
// copy followed a kernel, that its call was the one in flight when the GPU ran dry, and that nothing
// was launched before it returned. It would be wrong where the result decides what is launched
// next; then the wait cannot be moved, which the advice says.
std::optional<Match> FindHiddenSynchronization(const Picture& picture) {
  constexpr int64_t kOften = 10;
  const Picture::Gaps gaps = picture.GapsOf(Picture::Owner::kReadBack);
  if (gaps.gaps < kOften) return std::nullopt;
  Match match;
  match.gain_ns = gaps.ns;
  match.sentence = fmt::format(
      "The host waits for a few bytes of results {} times, and the GPU runs dry each time: {} ({}).",
      gaps.gaps, Duration(match.gain_ns), Share(match.gain_ns, picture.wall()));
  match.evidence = fmt::format("{}, {} each", gaps.call, Duration(match.gain_ns / gaps.gaps));
  int64_t most = 0;
  std::string place;
  picture.ForEach("idle", "drains", [&](const RowView& row) {
    if (row.Int("gpu") != picture.gpu() || row.Int("total_ns") <= most ||
        row.Text("origin") != GapOriginName(GapOrigin::kReadBack))
      return;
    most = row.Int("total_ns");
    place = PlaceOf(RangesAround(picture, row));
  });
  if (!place.empty()) match.evidence += fmt::format(", most in {}", place);
  if (!gaps.outside.empty())
    match.evidence += fmt::format("; the host then goes on in '{}'", gaps.outside);
  return match;
}

}  // namespace rochound::analysis
