// SPDX-License-Identifier: MIT
//
// Tests of significance, held against tables and against chance.
#include "analysis/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace rochound::analysis {
namespace {

TEST(StatisticsTest, StudentAgreesWithTables) {
  // From printed tables: the two-sided 5% points.
  EXPECT_NEAR(StudentTwoSided(12.7062, 1), 0.05, 1e-5);
  EXPECT_NEAR(StudentTwoSided(2.22814, 10), 0.05, 1e-5);
  EXPECT_NEAR(StudentTwoSided(1.98397, 100), 0.05, 1e-5);
  EXPECT_NEAR(StudentTwoSided(1.95996, 1e9), 0.05, 1e-5);
  EXPECT_DOUBLE_EQ(StudentTwoSided(0, 5), 1);
}

TEST(StatisticsTest, QuantileIsTheOtherWayRound) {
  EXPECT_NEAR(StudentQuantile(0.05, 1), 12.7062, 1e-4);
  EXPECT_NEAR(StudentQuantile(0.05, 10), 2.22814, 1e-5);
}

TEST(StatisticsTest, ARunIsOneObservation) {
  // Ten thousand calls whose means differ beyond doubt, in one run each.
  EXPECT_FALSE(ChangeOfMeans({{10000, 100, 1, 90}}, {{10000, 120, 1, 90}}).known);
  // Three runs each that differ as much among themselves.
  const std::vector<Sample> before = {
      {10000, 100, 1, 90}, {10000, 120, 1, 90}, {10000, 110, 1, 90}};
  const std::vector<Sample> after = {{10000, 120, 1, 90}, {10000, 130, 1, 90}, {10000, 110, 1, 90}};
  EXPECT_GT(ChangeOfMeans(before, after).p, 0.2);
  // Runs that agree by chance, closer than their few calls allow.
  const std::vector<Sample> lucky = {{4, 100, 400, 90}, {4, 100, 400, 90}, {4, 100, 400, 90}};
  const std::vector<Sample> also = {{4, 110, 400, 90}, {4, 110, 400, 90}, {4, 110, 400, 90}};
  EXPECT_GT(ChangeOfMeans(lucky, also).p, 0.1);
  EXPECT_TRUE(ChangeOfMeans(lucky, also).known);
}

// What a run's calls come to: kernels vary from call to call, and together from run to run.
std::vector<Sample> RunsOf(double mean, size_t runs, double run_to_run, std::mt19937& random) {
  std::normal_distribution<double> run(1, run_to_run), calls(1, 0.05 / std::sqrt(30));
  std::vector<Sample> samples;
  for (size_t i = 0; i < runs; ++i) {
    const double of_run = mean * run(random);
    samples.push_back({30, of_run * calls(random), 0.0025 * of_run * of_run, 0.9 * of_run});
  }
  return samples;
}

TEST(StatisticsTest, ChanceIsTakenForAChangeAsOftenAsPSays) {
  std::mt19937 random(1);
  constexpr int kPairs = 5000;
  for (const size_t runs : {2, 3, 5}) {
    int below = 0;
    for (int i = 0; i < kPairs; ++i)
      below +=
          ChangeOfMeans(RunsOf(100, runs, 0.04, random), RunsOf(100, runs, 0.04, random)).p < 0.01;
    EXPECT_LT(below, kPairs * 2 / 100) << runs << " runs";  // 50 are to be expected
  }
}

TEST(StatisticsTest, IntervalHoldsTheChangeInNineteenOfTwentyPairs) {
  std::mt19937 random(3);
  constexpr int kPairs = 3000;
  int inside = 0;
  for (int i = 0; i < kPairs; ++i) {
    const Change change = ChangeOfMeans(RunsOf(100, 5, 0.04, random), RunsOf(120, 5, 0.04, random));
    inside += change.low <= 0.2 && 0.2 <= change.high;
  }
  EXPECT_GE(inside, kPairs * 93 / 100);
  EXPECT_LE(inside, kPairs * 97 / 100);
}

TEST(StatisticsTest, TwentyPercentAreFound) {
  std::mt19937 random(2);
  constexpr int kPairs = 1000, kRows = 50;  // rows of the table, for which p is corrected
  int found = 0;
  for (int i = 0; i < kPairs; ++i) {
    const Change change = ChangeOfMeans(RunsOf(100, 5, 0.03, random), RunsOf(120, 5, 0.03, random));
    found += change.p * kRows < 0.01;
    EXPECT_NEAR(change.by, 0.2, 0.12);
  }
  EXPECT_GT(found, kPairs * 90 / 100);
}

TEST(StatisticsTest, FastestCallsTellWhereOthersAreDisturbed) {
  // Means of a busy machine, and fastest calls that it left alone.
  const std::vector<Sample> before = {{40, 300, 1e4, 100}, {40, 150, 1e4, 101}, {40, 500, 1e4, 99}};
  const std::vector<Sample> after = {{40, 250, 1e4, 200}, {40, 600, 1e4, 202}, {40, 180, 1e4, 201}};
  EXPECT_GT(ChangeOfMeans(before, after).p, 0.5);
  EXPECT_LT(ChangeOfFastest(before, after).p, 0.001);
  EXPECT_NEAR(ChangeOfFastest(before, after).by, 1.01, 1e-9);
  // Fastest calls that differ by a tick of the clock do not differ.
  const std::vector<Sample> tick = {{40, 300, 1e4, 100}, {40, 300, 1e4, 100}};
  const std::vector<Sample> other = {{40, 300, 1e4, 110}, {40, 300, 1e4, 110}};
  EXPECT_GT(ChangeOfFastest(tick, other).p, 0.1);
}

TEST(StatisticsTest, AboveZeroByMeanOrBySign) {
  EXPECT_DOUBLE_EQ(AreAboveZeroP({5, 5}), 1);
  EXPECT_LT(AreAboveZeroP({5, 5.1, 5.2, 4.9}), 0.001);
  // All above, and one of them far off: 1 / 256.
  EXPECT_NEAR(AreAboveZeroP({5, 900, 6, 4, 5, 3, 2, 5}), 1.0 / 256, 1e-12);
  EXPECT_GT(AreAboveZeroP({5, 900, -6, 4, -5, -3, 2, -5}), 0.1);
}

TEST(StatisticsTest, ChanceIsTakenForAboveZeroAsOftenAsPSays) {
  std::mt19937 random(4);
  std::normal_distribution<double> normal(0, 1);
  constexpr int kSamples = 5000;
  int below = 0;
  for (int i = 0; i < kSamples; ++i) {
    std::vector<double> values(10);
    for (double& value : values) value = normal(random);
    below += AreAboveZeroP(values) < 0.05;
  }
  // One in twenty by either test; both together find a few more.
  EXPECT_GE(below, kSamples * 4 / 100);
  EXPECT_LE(below, kSamples * 8 / 100);
}

TEST(StatisticsTest, HolmIsNeverBelowItsOwn) {
  const std::vector<double> adjusted = HolmAdjusted({0.01, 0.04, 0.03});
  EXPECT_NEAR(adjusted[0], 0.03, 1e-12);
  EXPECT_NEAR(adjusted[2], 0.06, 1e-12);
  EXPECT_NEAR(adjusted[1], 0.06, 1e-12);
}

TEST(SpeedUpTest, IntervalHoldsTheTruthInNineteenOfTwentyRuns) {
  std::mt19937_64 random(17);
  int inside = 0, slower = 0;
  constexpr int kRuns = 1000;
  for (int run = 0; run < kRuns; ++run) {
    // The second side takes 1.2 times as long. One call in ten is delayed, by much.
    const auto time = [&](double mean) {
      std::lognormal_distribution<double> noise(0, 0.1), delay(3, 1);
      const double ns = mean * noise(random);
      return random() % 10 == 0 ? ns * (1 + delay(random)) : ns;
    };
    std::vector<double> quotients;
    for (int pair = 0; pair < 50; ++pair) {
      const double first = time(1000);
      quotients.push_back(first / time(1200));
    }
    const SpeedUp speed_up = SpeedUpOf(quotients);
    ASSERT_TRUE(speed_up.known);
    inside += speed_up.low <= 1 / 1.2 && 1 / 1.2 <= speed_up.high;
    slower += speed_up.high < 1;
  }
  EXPECT_GE(inside, kRuns * 94 / 100);
  EXPECT_LE(inside, kRuns * 99 / 100);
  EXPECT_GE(slower, kRuns * 95 / 100);
}

TEST(SpeedUpTest, IsTheMedianWithTheIntervalOfTheSignTest) {
  EXPECT_FALSE(SpeedUpOf({}).known);
  EXPECT_FALSE(SpeedUpOf({1, 2, 3, 4, 5}).known);
  const SpeedUp six = SpeedUpOf({6, 1, 5, 2, 4, 3});
  EXPECT_TRUE(six.known);
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.factor, 3.5);
  EXPECT_EQ(six.high, 6);
  const SpeedUp nine = SpeedUpOf({9, 1, 8, 2, 7, 3, 6, 4, 5});
  // Of nine, two or more are on either side of the median in 96 of 100 runs.
  EXPECT_EQ(nine.low, 2);
  EXPECT_EQ(nine.factor, 5);
  EXPECT_EQ(nine.high, 8);
}

}  // namespace
}  // namespace rochound::analysis
