// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analysis/findings/rule.h"

namespace rochound::analysis {
namespace {

int64_t Median(std::vector<int64_t> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Of all pairs of steps, the share in which the later one is longer.
double LaterIsLonger(const std::vector<int64_t>& steps) {
  int64_t longer = 0, pairs = 0;
  const size_t stride = std::max<size_t>(1, steps.size() / 200);
  for (size_t i = 0; i < steps.size(); i += stride) {
    for (size_t j = i + stride; j < steps.size(); j += stride) {
      ++pairs;
      longer += steps[j] > steps[i];
    }
  }
  return pairs == 0 ? 0 : static_cast<double>(longer) / static_cast<double>(pairs);
}

}  // namespace

std::optional<Match> FindGrowingSteps(const Picture& picture) {
  constexpr size_t kLeastSteps = 9;
  // Threads with steps of their own are no row of steps: each is compared with itself.
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> threads;
  picture.ForEach("variability", "steps", [&](const RowView& row) {
    threads[{row.Int("pid"), row.Int("thread")}].push_back(row.Int("wall_ns"));
  });
  Match match;
  for (const auto& [thread, steps] : threads) {
    if (steps.size() < kLeastSteps) continue;
    const auto third = static_cast<ptrdiff_t>(steps.size() / 3);
    const int64_t early = Median({steps.begin(), steps.begin() + third});
    const int64_t late = Median({steps.end() - third, steps.end()});
    if (late * 10 < early * 12 || LaterIsLonger(steps) < 0.75) continue;
    // As if all had stayed as short as the first ones.
    int64_t gain = 0;
    const int64_t first = Median({steps.begin(), steps.begin() + 3});
    for (const int64_t step : steps) gain += std::max<int64_t>(0, step - first);
    if (gain <= match.gain_ns) continue;
    match.gain_ns = gain;
    match.sentence = fmt::format(
        "Steps take longer and longer: {} at first, {} in the end, {} ({}) more in all.",
        Duration(first), Duration(Median({steps.end() - 3, steps.end()})), Duration(gain),
        Share(gain, picture.wall()));
    match.evidence = fmt::format("{} steps; in {:.0f}% of pairs the later one is longer",
                                 steps.size(), 100 * LaterIsLonger(steps));
  }
  if (match.gain_ns == 0) return std::nullopt;
  return match;
}

}  // namespace rochound::analysis
