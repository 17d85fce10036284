// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

std::optional<Match> FindGpuImbalance(const Picture& picture) {
  int64_t gpus = 0, sum = 0, most = 0, least = INT64_MAX, busiest = 0;
  picture.ForEach("busy", "gpus", [&](const RowView& row) {
    const int64_t busy = row.Int("busy_ns");
    if (row.Int("operations") == 0) return;
    ++gpus;
    sum += busy;
    least = std::min(least, busy);
    if (busy <= most) return;
    most = busy;
    busiest = row.Int("gpu");
  });
  // With the work divided evenly the busiest would be done when the mean is.
  if (gpus < 2 || least * 10 > most * 9) return std::nullopt;
  Match match;
  match.gain_ns = most - sum / gpus;
  match.sentence = fmt::format("GPU {} works {} and another {}: evenly divided, {} ({}) less.",
                               busiest, Duration(most), Duration(least), Duration(match.gain_ns),
                               Share(match.gain_ns, picture.wall()));
  match.evidence = fmt::format("{} GPUs, {} of work on average", gpus, Duration(sum / gpus));
  return match;
}

}  // namespace rochound::analysis
