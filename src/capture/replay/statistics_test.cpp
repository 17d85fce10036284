// SPDX-License-Identifier: MIT
#include "capture/replay/statistics.h"

#include <gtest/gtest.h>

namespace rochound::capture::replay {
namespace {

TEST(Statistics, SummaryOfKnownTimes) {
  const Summary summary = Summarize({5, 1, 3, 2, 4});
  EXPECT_EQ(summary.count, 5U);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.max, 5);
  EXPECT_EQ(summary.median, 3);
  EXPECT_EQ(summary.mean, 3);
  EXPECT_EQ(summary.spread, 2);
  EXPECT_NEAR(summary.p95, 4.8, 1e-12);
}

TEST(Statistics, EvenCountAndNothing) {
  EXPECT_EQ(Summarize({4, 1, 2, 3}).median, 2.5);
  EXPECT_EQ(Summarize({}).count, 0U);
  EXPECT_EQ(Summarize({}).median, 0);
}

TEST(Statistics, IntervalHoldsTheRatioAndIsNarrowForSteadyTimes) {
  std::vector<double> original, candidate;
  for (int i = 0; i < 40; ++i) {
    original.push_back(200 + i % 5);
    candidate.push_back(100 + i % 3);
  }
  const Speedup speedup = CompareMedians(original, candidate);
  EXPECT_NEAR(speedup.ratio, 2, 0.02);
  EXPECT_LE(speedup.low, speedup.ratio);
  EXPECT_GE(speedup.high, speedup.ratio);
  EXPECT_GT(speedup.low, 1.9);
  EXPECT_LT(speedup.high, 2.1);
}

TEST(Statistics, IntervalOfNoisyTimesContainsOne) {
  std::vector<double> original, candidate;
  for (int i = 0; i < 30; ++i) {
    original.push_back(100 + i * 7 % 31);
    candidate.push_back(100 + i * 11 % 31);
  }
  const Speedup speedup = CompareMedians(original, candidate);
  EXPECT_LT(speedup.low, 1);
  EXPECT_GT(speedup.high, 1);
}

TEST(Statistics, SameTimesSameNumbers) {
  const std::vector<double> one = {3, 1, 4, 1, 5}, other = {2, 7, 1, 8, 2};
  EXPECT_EQ(CompareMedians(one, other).low, CompareMedians(one, other).low);
  EXPECT_EQ(CompareMedians({}, {}).ratio, 0);
}

}  // namespace
}  // namespace rochound::capture::replay
