// SPDX-License-Identifier: MIT
#include "capture/replay/statistics.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

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

TEST(Statistics, IntervalHoldsTheTruthInNineteenOfTwentyComparisons) {
  std::mt19937_64 random(17);
  std::lognormal_distribution<double> own(0, 0.1), of_round(0, 0.05), delay(3, 1);
  // One time in ten is delayed, by much.
  const auto time = [&](double mean) {
    const double ns = mean * own(random);
    return random() % 10 == 0 ? ns * (1 + delay(random)) : ns;
  };
  constexpr int kComparisons = 1000, kRounds = 20;
  int inside = 0;
  for (int comparison = 0; comparison < kComparisons; ++comparison) {
    std::vector<double> original, candidate;
    for (int round = 0; round < kRounds; ++round) {
      const double slowed = of_round(random);
      original.push_back(slowed * time(1200));
      candidate.push_back(slowed * time(1000));
    }
    const Speedup speedup = CompareMedians(original, candidate);
    inside += speedup.low <= 1.2 && 1.2 <= speedup.high;
  }
  // The interval of 90% holds it 920 times, that of 99% 990 times.
  EXPECT_GE(inside, 940);
  EXPECT_LE(inside, 980);
}

TEST(Statistics, WhatSlowsARoundDownSlowsBoth) {
  std::mt19937_64 random(18);
  std::lognormal_distribution<double> of_round(0, 0.5);
  std::vector<double> original, candidate;
  for (int round = 0; round < 20; ++round) {
    const double slowed = of_round(random);
    original.push_back(1200 * slowed);
    candidate.push_back(1000 * slowed);
  }
  const Speedup speedup = CompareMedians(original, candidate);
  EXPECT_NEAR(speedup.low, 1.2, 1e-9);
  EXPECT_NEAR(speedup.high, 1.2, 1e-9);
}

TEST(Statistics, SameTimesSameNumbers) {
  const std::vector<double> one = {3, 1, 4, 1, 5}, other = {2, 7, 1, 8, 2};
  EXPECT_EQ(CompareMedians(one, other).low, CompareMedians(one, other).low);
  EXPECT_EQ(CompareMedians({}, {}).ratio, 0);
}

}  // namespace
}  // namespace rochound::capture::replay
