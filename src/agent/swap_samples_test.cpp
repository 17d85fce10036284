// SPDX-License-Identifier: MIT
#include "agent/swap_samples.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace rochound::agent {
namespace {

// Of `launches` launches: those that were captured. early: those that the GPU takes too soon.
std::vector<uint64_t> Captured(SwapSamples* samples, uint64_t most, uint64_t launches,
                               const std::set<uint64_t>& early) {
  std::vector<uint64_t> captured;
  for (uint64_t launch = 1; launch <= launches; ++launch) {
    if (!samples->IsDue(most)) continue;
    samples->Begin();
    if (early.contains(launch)) {
      samples->TakenEarly(launch);
    } else {
      samples->Captured();
      captured.push_back(launch);
    }
  }
  return captured;
}

TEST(SwapSamples, TakesTheFirstSecondAndFourth) {
  SwapSamples samples;
  EXPECT_EQ(Captured(&samples, 3, 20, {}), (std::vector<uint64_t>{1, 2, 4}));
  EXPECT_EQ(samples.TakeOwed(), 0u);
}

TEST(SwapSamples, MakesUpForWhatTheGpuTookEarly) {
  SwapSamples samples;
  EXPECT_EQ(Captured(&samples, 3, 20, {1, 2, 6}), (std::vector<uint64_t>{3, 7, 14}));
  EXPECT_EQ(samples.TakeOwed(), 0u);
}

TEST(SwapSamples, TellsWhatNobodyMadeUpFor) {
  SwapSamples samples;
  EXPECT_EQ(Captured(&samples, 3, 4, {2, 3, 4}), (std::vector<uint64_t>{1}));
  EXPECT_EQ(samples.TakeOwed(), 4u);
  EXPECT_EQ(samples.TakeOwed(), 0u);
}

TEST(SwapSamples, GivesUpWhereEveryLaunchIsTakenEarly) {
  SwapSamples samples;
  uint64_t tried = 0;
  for (uint64_t launch = 1; launch <= 1000; ++launch)
    if (samples.IsDue(1)) {
      samples.Begin();
      ++tried;
      if (!samples.TakenEarly(launch)) break;
    }
  EXPECT_EQ(tried, 65u);
}

}  // namespace
}  // namespace rochound::agent
