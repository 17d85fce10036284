// SPDX-License-Identifier: MIT
#include "trace/clock_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace rochound::trace {
namespace {

TEST(ClockLine, GoesThroughItsInstantsAndStraightBetween) {
  const ClockLine line({{3000, 1000}, {6000, 2000}, {12000, 5000}}, 1);
  EXPECT_EQ(line.At(3000), 1000u);
  EXPECT_NEAR(static_cast<double>(line.At(4500)), 1500, 1);
  EXPECT_EQ(line.At(6000), 2000u);
  EXPECT_NEAR(static_cast<double>(line.At(9000)), 3500, 1);
  EXPECT_EQ(line.At(12000), 5000u);
}

TEST(ClockLine, GoesOnWithTheOverallSlopeOutside) {
  const ClockLine line({{3000, 1000}, {6000, 2000}, {12000, 5500}}, 1);
  EXPECT_NEAR(static_cast<double>(line.At(2000)), 500, 1);
  EXPECT_NEAR(static_cast<double>(line.At(14000)), 6500, 1);
  EXPECT_EQ(line.At(0), 0u) << "does not wrap around";
  EXPECT_EQ(line.At(UINT64_MAX) > 5500, true);
}

TEST(ClockLine, UsesTheSlopeGivenWhereItKnowsNone) {
  const ClockLine one({{1000, 500}}, 0.25);
  EXPECT_FALSE(one.slope_known());
  EXPECT_EQ(one.At(2000), 750u);
  EXPECT_EQ(one.At(600), 400u);
  const ClockLine close({{1000, 500}, {1010, 510}}, 0.25, 100);
  EXPECT_FALSE(close.slope_known());
  EXPECT_EQ(close.At(2010), 760u);
  const ClockLine none({}, 0.25);
  EXPECT_EQ(none.At(77), 77u);
}

TEST(ClockLine, LeavesOutInstantsThatWouldTurnTimeBack) {
  const ClockLine line({{1000, 1000}, {2000, 900}, {3000, 3000}, {3000, 4000}}, 1);
  EXPECT_EQ(line.instants(), 2u);
  EXPECT_EQ(line.At(2000), 2000u);
}

TEST(ClockLine, NeverGoesBackwardsWhateverItIsMadeOf) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<ClockLine::Instant> instants(1 + random() % 20);
    const uint64_t mask = round % 2 == 0 ? UINT64_MAX : 0xffffff;
    for (auto& instant : instants) instant = {random() & mask, random() & mask};
    const ClockLine line(instants, static_cast<double>(random() % 100) / 10);
    std::vector<uint64_t> times(1000);
    for (uint64_t& time : times) time = random() & mask;
    std::sort(times.begin(), times.end());
    size_t hint = 0;
    uint64_t last = 0;
    for (const uint64_t time : times) {
      const uint64_t now = line.At(time, &hint);
      ASSERT_GE(now, last);
      ASSERT_EQ(now, line.At(time)) << "the hint changes nothing";
      last = now;
    }
  }
}

}  // namespace
}  // namespace rochound::trace
