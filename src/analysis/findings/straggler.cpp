// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

std::optional<Match> FindStraggler(const Picture& picture) {
  int64_t ranks = 0, caused = 0, collectives = 0, last = 0;
  std::string late;
  picture.ForEach("stragglers", "ranks", [&](const RowView& row) {
    ++ranks;
    if (row.Int("caused_wait_ns") <= caused) return;
    caused = row.Int("caused_wait_ns");
    late = row.Text("rank");
    collectives = row.Int("collectives");
    last = row.Int("times_last");
  });
  if (ranks < 2 || caused == 0 || last * 2 <= collectives) return std::nullopt;
  Match match;
  // All the others wait at the same time.
  match.gain_ns = caused / (ranks - 1);
  match.sentence = fmt::format("Rank {} is late: the others wait {} ({}) for it.", late,
                               Duration(match.gain_ns), Share(match.gain_ns, picture.wall()));
  match.evidence = fmt::format("last in {} of {} collectives", last, collectives);
  return match;
}

}  // namespace rochound::analysis
