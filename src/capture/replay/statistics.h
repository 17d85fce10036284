// SPDX-License-Identifier: MIT
//
// What a list of times says: its middle, its spread, and how much faster one list is than another.
// Used by replay for run and compare. Plain functions, any thread; the same times give the same
// numbers, since the random choice of the bootstrap starts from a fixed seed.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rochound::capture::replay {

struct Summary {
  size_t count = 0;
  double min = 0, median = 0, mean = 0, p95 = 0, max = 0;
  double spread = 0;  // between the first and the third quartile
};

// All zero for an empty list.
Summary Summarize(std::vector<double> times);

// How often the candidate's time goes into the original's, with a 95% interval.
struct Speedup {
  double ratio = 0, low = 0, high = 0;
};

// Both lists hold one time per round. Rounds are drawn again and again with replacement, both times
// of a round together, so that what slows a round down slows both; the interval is what the middle
// 95% of the ratios of medians span.
Speedup CompareMedians(std::span<const double> original, std::span<const double> candidate);

}  // namespace rochound::capture::replay
