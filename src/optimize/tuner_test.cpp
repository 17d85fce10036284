// SPDX-License-Identifier: MIT
#include "optimize/tuner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace rochound::optimize {
namespace {

// 200 points: a tile, how often a loop is unrolled, waves per SIMD that are asked for, two flags.
// As in kernels, the parameters depend on each other: large tiles want little unrolling, since both
// need registers, and some points cannot be launched at all.
const std::vector<size_t> kCounts = {5, 5, 4, 2};

std::optional<double> Cost(const Point& point) {
  const double tile = 4 << point[0], unroll = 1 << point[1],
               waves = 1 + static_cast<double>(point[2]);
  const double registers = tile * 2 + unroll * 6;
  if (registers * waves > 512) return std::nullopt;
  const double loads = 6000 / tile, loop = 3000 / unroll + unroll * 20;
  const double spills = registers > 128 ? (registers - 128) * 40 : 0;
  const double latency = 4000 / (waves + 1) * (1 + 32 / tile / unroll);
  return loads + loop + spills + latency + (point[3] == 0 ? 90 : 0) +
         (point[3] == 1 && point[1] > 3 ? 200 : 0);
}

double Known() {
  double best = 1e30;
  for (size_t a = 0; a < 5; ++a)
    for (size_t b = 0; b < 5; ++b)
      for (size_t c = 0; c < 4; ++c)
        for (size_t d = 0; d < 2; ++d) best = std::min(best, Cost({a, b, c, d}).value_or(1e30));
  return best;
}

TEST(Tuner, FindsTheBestOfTwoHundredWithFortyMeasured) {
  const double known = Known();
  int found = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Tuner tuner(kCounts, seed, 40);
    while (const auto point = tuner.Next()) {
      const auto cost = Cost(*point);
      tuner.Report(*point, cost, cost.has_value());  // what cannot run costs nothing to find out
    }
    EXPECT_LE(tuner.measured(), 40u);
    const auto best = tuner.Best();
    ASSERT_FALSE(best.empty());
    found += best.front().second == known ? 1 : 0;
  }
  EXPECT_GE(found, 9);
}

TEST(Tuner, NamesEachPointOnceAndEnds) {
  Tuner tuner({3, 2}, 1, 100);
  std::set<Point> seen;
  while (const auto point = tuner.Next()) {
    EXPECT_TRUE(seen.insert(*point).second);
    tuner.Report(*point, 1.0);
  }
  EXPECT_EQ(seen.size(), 6u);
}

TEST(Tuner, EndsWhereNothingIsRight) {
  Tuner tuner({4, 4}, 1, 100);
  size_t points = 0;
  while (const auto point = tuner.Next()) {
    tuner.Report(*point, std::nullopt, false);
    ++points;
  }
  EXPECT_EQ(points, 16u);
}

}  // namespace
}  // namespace rochound::optimize
