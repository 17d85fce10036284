// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <set>

#include "analysis/findings/rule.h"

namespace rochound::analysis {
namespace {

// The rank that is late where ranks meet.
std::optional<Match> LateInCollectives(const Picture& picture) {
  int64_t ranks = 0, caused = 0, collectives = 0, last = 0;
  std::string late;
  picture.ForEach("stragglers", "ranks", [&](const RowView& row) {
    ++ranks;
    if (row.Text("verdict") != "late" || row.Int("caused_wait_ns") <= caused) return;
    caused = row.Int("caused_wait_ns");
    late = row.Text("rank");
    collectives = row.Int("collectives");
    last = row.Int("times_last");
  });
  if (ranks < 2 || caused == 0) return std::nullopt;
  Match match;
  // All the others wait at the same time.
  match.gain_ns = caused / (ranks - 1);
  match.sentence = fmt::format("Rank {} is late: the others wait {} ({}) for it.", late,
                               Duration(match.gain_ns), Share(match.gain_ns, picture.wall()));
  match.evidence = fmt::format("last in {} of {} collectives", last, collectives);
  return match;
}

// The rank whose steps take longer than the others'. Threads of one process may well have steps of
// different work: only processes are ranks for sure.
std::optional<Match> SlowInSteps(const Picture& picture) {
  Match match;
  std::set<int64_t> processes;
  picture.ForEach("stragglers", "step_ranks",
                  [&](const RowView& row) { processes.insert(row.Int("pid")); });
  if (processes.size() < 2) return std::nullopt;
  picture.ForEach("stragglers", "step_ranks", [&](const RowView& row) {
    const auto more = static_cast<int64_t>(row.Real("over_others_mean_ns") * row.Real("steps"));
    if (row.Text("verdict") != "slower" || more <= match.gain_ns) return;
    match.gain_ns = more;
    match.sentence = fmt::format("The steps of process {} take {} ({}) longer than the others'.",
                                 row.Int("pid"), Duration(more), Share(more, picture.wall()));
    match.evidence =
        fmt::format("slowest in {} of {} steps", row.Int("times_slowest"), row.Int("steps"));
  });
  if (match.gain_ns == 0) return std::nullopt;
  return match;
}

}  // namespace

std::optional<Match> FindStraggler(const Picture& picture) {
  std::optional<Match> match = LateInCollectives(picture);
  return match.has_value() ? match : SlowInSteps(picture);
}

}  // namespace rochound::analysis
