// SPDX-License-Identifier: MIT
#include "fleet/history/regressions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace rochound::fleet {
namespace {

// A fleet whose hosts differ by some percent, whose runs differ by `noise`, and where now and then a
// run is disturbed.
class Fleet {
 public:
  explicit Fleet(uint64_t seed) : random_(seed) {}

  // `runs` processes on each host. change: of this build's own; drift: of the hosts meanwhile.
  void Run(const std::string& kernel, const std::string& build, int hosts, int runs, double change,
           double drift = 0, int first_host = 0, int32_t size_class = 40) {
    for (int host = first_host; host < first_host + hosts; ++host)
      for (int run = 0; run < runs; ++run) {
        Observation one;
        one.kernel = kernel;
        one.code_object = build;
        one.host = "h" + std::to_string(host);
        one.process = one.host + "." + std::to_string(epoch_) + "." + std::to_string(run);
        one.rocm = "7.1";
        one.job = "j";
        one.gpu = 1;
        one.size_class = size_class;
        one.launches = 1000;
        one.first_ns = 1000 * epoch_ + static_cast<uint64_t>(run);
        const double host_speed = 0.08 * std::sin(host * 12.9898);
        double noise = std::normal_distribution<>(0, 0.012)(random_);
        if (random_() % 25 == 0) noise += 0.15;
        // As a sketch tells it: the middle of a bucket.
        const double exact =
            std::log(20000.0) + host_speed + noise + std::log1p(change) + std::log1p(drift);
        one.median_ns = std::exp2((std::floor(exact / std::log(2) * 32) + 0.5) / 32);
        observations_.push_back(one);
      }
  }
  void NextDay() { ++epoch_; }

  std::vector<Comparison> Compare(const RegressionOptions& options = {}) const {
    return CompareBuilds(observations_, options);
  }

 private:
  std::mt19937_64 random_;
  uint64_t epoch_ = 1;
  std::vector<Observation> observations_;
};

size_t Slower(const std::vector<Comparison>& all) {
  size_t found = 0;
  for (const Comparison& one : all) found += one.verdict == Verdict::kSlower;
  return found;
}

TEST(RegressionsTest, ASlowerBuildIsNamed) {
  Fleet fleet(1);
  for (const char* kernel : {"a", "b", "c"}) fleet.Run(kernel, "old", 4, 3, 0);
  fleet.NextDay();
  fleet.Run("a", "new", 4, 3, 0.15);
  fleet.Run("b", "new", 4, 3, 0);
  fleet.Run("c", "old", 4, 3, 0);
  const auto all = fleet.Compare();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].kernel, "a");
  EXPECT_EQ(all[0].verdict, Verdict::kSlower);
  EXPECT_EQ(all[0].before.code_object, "old");
  EXPECT_EQ(all[0].after.code_object, "new");
  EXPECT_EQ(all[0].after.first_seen_ns, 2000u);
  EXPECT_EQ(all[0].before.runs, 12u);
  EXPECT_NEAR(all[0].by, 0.15, 0.05);
  EXPECT_LT(all[0].low, 0.15);
  EXPECT_GT(all[0].high, 0.15);
  EXPECT_EQ(all[1].verdict, Verdict::kSame);
}

TEST(RegressionsTest, AFasterBuildIsNoRegression) {
  Fleet fleet(2);
  fleet.Run("a", "old", 4, 3, 0);
  fleet.NextDay();
  fleet.Run("a", "new", 4, 3, -0.15);
  const auto all = fleet.Compare();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].verdict, Verdict::kFaster);
}

TEST(RegressionsTest, AHundredCleanFleetsAccuseNobody) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Fleet fleet(seed);
    for (int day = 0; day < 3; ++day) {
      for (int kernel = 0; kernel < 10; ++kernel)
        // Half of the kernels are built anew each day.
        fleet.Run("k" + std::to_string(kernel), "build" + std::to_string(kernel % 2 * day), 3, 3,
                  0);
      fleet.NextDay();
    }
    EXPECT_EQ(Slower(fleet.Compare()), 0u) << "seed " << seed;
  }
}

TEST(RegressionsTest, ChangesFromEightPercentOnAreFound) {
  // Four hosts with four runs each on both sides.
  for (const double change : {0.08, 0.12, 0.3}) {
    size_t found = 0;
    for (uint64_t seed = 1; seed <= 50; ++seed) {
      Fleet fleet(seed);
      fleet.Run("a", "old", 4, 4, 0);
      fleet.Run("b", "old", 4, 4, 0);
      fleet.NextDay();
      fleet.Run("a", "new", 4, 4, change);
      fleet.Run("b", "old", 4, 4, 0);
      found += Slower(fleet.Compare());
    }
    EXPECT_GE(found, change < 0.1 ? 5u : 45u) << change;
  }
}

// In how many of 400 fleets the intervals of all kernels, each of which became 10% slower, hold that.
int FleetsThatHoldTheTruth(int kernels, const RegressionOptions& options) {
  constexpr double kChange = 0.1;
  int inside = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Fleet fleet(seed);
    for (const bool changed : {false, true}) {
      for (int kernel = 0; kernel < kernels; ++kernel)
        fleet.Run("k" + std::to_string(kernel), changed ? "new" : "old", 4, 4,
                  changed ? kChange : 0);
      fleet.NextDay();
    }
    bool all = true;
    for (const Comparison& one : fleet.Compare(options))
      all = all && one.low <= kChange && kChange <= one.high;
    inside += all;
  }
  return inside;
}

TEST(RegressionsTest, IntervalsHoldTheTruthAsOftenAsAsked) {
  RegressionOptions options;
  EXPECT_GE(FleetsThatHoldTheTruth(1, options), 396);
  options.confidence = 0.8;
  const int inside = FleetsThatHoldTheTruth(1, options);
  EXPECT_GE(inside, 300);
  EXPECT_LE(inside, 350);
  // Of all comparisons together.
  options.confidence = 0.95;
  EXPECT_GE(FleetsThatHoldTheTruth(5, options), 380);
}

TEST(RegressionsTest, SmallChangesAreNotReportedHoweverCertain) {
  for (const double change : {0.02, 0.06}) {
    Fleet fleet(9);
    fleet.Run("a", "old", 4, 40, 0);
    fleet.NextDay();
    fleet.Run("a", "new", 4, 40, change);
    const auto all = fleet.Compare();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_GT(all[0].low, 0) << change;
    EXPECT_EQ(all[0].verdict, change < 0.03 ? Verdict::kSame : Verdict::kSlower) << change;
  }
}

// Sketches know a median to one bucket: runs may be in the same one by chance.
TEST(RegressionsTest, ABucketIsNoChange) {
  std::vector<Observation> observations;
  for (int run = 0; run < 6; ++run) {
    Observation one;
    one.kernel = "a";
    one.code_object = run < 3 ? "old" : "new";
    one.host = "h";
    one.process = std::to_string(run);
    one.median_ns = std::exp2((run < 3 ? 450.5 : 451.5) / 32);
    one.first_ns = static_cast<uint64_t>(run);
    observations.push_back(one);
  }
  RegressionOptions options;
  options.least = 0.01;
  const auto all = CompareBuilds(observations, options);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NEAR(all[0].by, std::exp2(1.0 / 32) - 1, 1e-9);
  EXPECT_EQ(all[0].verdict, Verdict::kSame);
}

TEST(RegressionsTest, HostsThatBecameSlowerAreNotTheBuild) {
  Fleet fleet(3);
  for (const char* kernel : {"a", "b", "c"}) fleet.Run(kernel, "old", 4, 3, 0);
  fleet.NextDay();
  fleet.Run("a", "new", 4, 3, 0, 0.2);
  fleet.Run("b", "old", 4, 3, 0, 0.2);
  fleet.Run("c", "old", 4, 3, 0, 0.2);
  const auto all = fleet.Compare();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].verdict, Verdict::kSame);
  EXPECT_EQ(all[0].unchanged, 2u);
  EXPECT_NEAR(all[0].unchanged_by, 0.2, 0.05);
}

TEST(RegressionsTest, OtherHostsOrSizesAreNotCompared) {
  Fleet fleet(4);
  fleet.Run("a", "old", 2, 3, 0);
  fleet.Run("b", "old", 2, 3, 0);
  fleet.NextDay();
  fleet.Run("a", "new", 2, 3, 0.5, 0, 10);
  fleet.Run("b", "new", 2, 3, 0.5, 0, 0, 60);
  const auto all = fleet.Compare();
  ASSERT_EQ(all.size(), 2u);
  for (const Comparison& one : all) EXPECT_EQ(one.verdict, Verdict::kNotComparable);
}

TEST(RegressionsTest, BuildsOfTwoArchitecturesAreComparedEachWithItsOwn) {
  Fleet fleet(5);
  fleet.Run("a", "old for one", 3, 3, 0, 0, 0);
  fleet.Run("a", "old for two", 3, 3, 0, 0, 10);
  fleet.NextDay();
  fleet.Run("a", "new for one", 3, 3, 0.4, 0, 0);
  fleet.Run("a", "new for two", 3, 3, 0, 0, 10);
  const auto all = fleet.Compare();
  ASSERT_EQ(Slower(all), 1u);
  EXPECT_EQ(all[0].before.code_object, "old for one");
  EXPECT_EQ(all[0].after.code_object, "new for one");
}

TEST(RegressionsTest, OneRunEachProvesNothing) {
  Fleet fleet(6);
  fleet.Run("a", "old", 1, 1, 0);
  fleet.NextDay();
  fleet.Run("a", "new", 1, 1, 0.5);
  const auto all = fleet.Compare();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].verdict, Verdict::kTooFewRuns);
}

TEST(RegressionsTest, SizeClassesAreAFifthApart) {
  EXPECT_EQ(SizeClass(1024 * 10, 10), SizeClass(1050 * 3, 3));
  EXPECT_NE(SizeClass(1024, 1), SizeClass(1400, 1));
  EXPECT_EQ(SizeClass(0, 5), -1);
}

}  // namespace
}  // namespace rochound::fleet
