// SPDX-License-Identifier: MIT
#include "capture/replay/statistics.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace rochound::capture::replay {
namespace {

constexpr size_t kResamples = 2000;

// Between the neighbours in a sorted list.
double Quantile(std::span<const double> sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double rest = place - static_cast<double>(below);
  return sorted[below] + rest * (sorted[above] - sorted[below]);
}

double Median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// xorshift64*: the same everywhere, unlike the library's distributions.
uint64_t Next(uint64_t* state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * 0x2545F4914F6CDD1DULL;
}

}  // namespace

Summary Summarize(std::vector<double> times) {
  Summary summary;
  if (times.empty()) return summary;
  std::sort(times.begin(), times.end());
  summary.count = times.size();
  summary.min = times.front();
  summary.max = times.back();
  summary.median = Quantile(times, 0.5);
  summary.p95 = Quantile(times, 0.95);
  summary.spread = Quantile(times, 0.75) - Quantile(times, 0.25);
  summary.mean =
      std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  return summary;
}

Speedup CompareMedians(std::span<const double> original, std::span<const double> candidate) {
  Speedup speedup;
  const size_t rounds = std::min(original.size(), candidate.size());
  if (rounds == 0) return speedup;
  std::vector<double> one(original.begin(), original.begin() + static_cast<ptrdiff_t>(rounds));
  std::vector<double> other(candidate.begin(), candidate.begin() + static_cast<ptrdiff_t>(rounds));
  const auto ratio = [&] {
    const double divisor = Median(other);
    return divisor > 0 ? Median(one) / divisor : 0;
  };
  speedup.ratio = ratio();
  std::vector<double> ratios(kResamples);
  uint64_t state = 0x9E3779B97F4A7C15ULL;
  for (double& drawn : ratios) {
    for (size_t i = 0; i < rounds; ++i) {
      const size_t round = Next(&state) % rounds;
      one[i] = original[round];
      other[i] = candidate[round];
    }
    drawn = ratio();
  }
  std::sort(ratios.begin(), ratios.end());
  speedup.low = Quantile(ratios, 0.025);
  speedup.high = Quantile(ratios, 0.975);
  return speedup;
}

}  // namespace rochound::capture::replay
