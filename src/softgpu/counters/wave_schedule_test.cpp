// SPDX-License-Identifier: MIT
#include "softgpu/counters/wave_schedule.h"

#include <gtest/gtest.h>

#include <numeric>

namespace rochound::softgpu {
namespace {

using Cycles = std::vector<uint64_t>;

TEST(WaveSchedule, WorkgroupsComeWhenThereIsRoom) {
  // One unit for two waves: the third workgroup waits for the first, which ends sooner.
  const WaveSchedule schedule = ScheduleWaves({{0, 2}, {1, 4}, {2, 3}}, 1, 2);
  EXPECT_EQ(schedule.step, 1u);
  EXPECT_EQ(schedule.cycles, 5u);
  EXPECT_EQ(schedule.wave_cycles, (Cycles{2, 2, 2, 2, 1}));
}

TEST(WaveSchedule, AWorkgroupComesAsAWhole) {
  // Two waves each, and room for three: the second comes when one of the first is gone.
  EXPECT_EQ(ScheduleWaves({{0, 1}, {0, 3}, {1, 1}, {1, 1}}, 1, 3).wave_cycles, (Cycles{2, 3, 1}));
  // Room for two: when both are.
  EXPECT_EQ(ScheduleWaves({{0, 1}, {0, 3}, {1, 1}, {1, 1}}, 1, 2).wave_cycles,
            (Cycles{2, 1, 1, 2}));
  // Larger than the unit: alone on it.
  EXPECT_EQ(ScheduleWaves({{0, 1}, {0, 1}, {1, 1}, {1, 1}}, 1, 1).wave_cycles, (Cycles{2, 2}));
}

TEST(WaveSchedule, UnitsAreUsedInTurn) {
  EXPECT_EQ(ScheduleWaves({{1, 2}, {0, 1}, {3, 1}, {2, 1}}, 2, 1).wave_cycles, (Cycles{2, 2, 1}));
}

TEST(WaveSchedule, NothingIsNothing) {
  EXPECT_TRUE(ScheduleWaves({}, 4, 4).wave_cycles.empty());
  EXPECT_TRUE(ScheduleWaves({{0, 0}}, 4, 4).wave_cycles.empty());
}

TEST(WaveSchedule, StepsKeepAllCycles) {
  std::vector<WaveLength> waves;
  uint64_t all = 0;
  for (uint64_t group = 0; group < 1000; ++group) {
    waves.push_back({group, 100 + 37 * group % 1000});
    all += waves.back().cycles;
  }
  const WaveSchedule schedule = ScheduleWaves(waves, 7, 5);
  EXPECT_LE(schedule.wave_cycles.size(), kMostScheduleSteps);
  EXPECT_GT(schedule.step, 1u);
  EXPECT_EQ(std::accumulate(schedule.wave_cycles.begin(), schedule.wave_cycles.end(), uint64_t{0}),
            all);
  for (const uint64_t cycles : schedule.wave_cycles) EXPECT_LE(cycles, 35 * schedule.step);
  EXPECT_EQ(schedule.wave_cycles[0], 35 * schedule.step) << "it begins with all places taken";
}

}  // namespace
}  // namespace rochound::softgpu
