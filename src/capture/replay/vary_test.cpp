// SPDX-License-Identifier: MIT
#include "capture/replay/vary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace rochound::capture::replay {
namespace {

template <typename T>
std::vector<T> Varied(Element type, uint64_t seed, std::vector<T> values, size_t* changed) {
  *changed = VaryElements(type, seed, std::as_writable_bytes(std::span(values)));
  return values;
}

TEST(Vary, KeepsSignsAndSizesOfFloats) {
  const std::vector<float> old = {1, -2, 3, -4, 5, -6, 7, -8};
  size_t changed = 0;
  const auto varied = Varied(Element::kFloat, 1, old, &changed);
  EXPECT_EQ(changed, old.size());
  size_t negative = 0;
  for (const float value : varied) {
    EXPECT_TRUE(std::isfinite(value));
    EXPECT_GE(std::abs(value), 1);
    EXPECT_LT(std::abs(value), 16);
    negative += value < 0 ? 1 : 0;
  }
  EXPECT_EQ(negative, 4u);
}

TEST(Vary, GivesTheSameForTheSameSeedOnly) {
  const std::vector<double> old = {0.25, 0.5, 0.75, 1};
  size_t changed = 0;
  EXPECT_EQ(Varied(Element::kDouble, 1, old, &changed), Varied(Element::kDouble, 1, old, &changed));
  EXPECT_NE(Varied(Element::kDouble, 1, old, &changed), Varied(Element::kDouble, 2, old, &changed));
}

TEST(Vary, LeavesWhatIsNoNumberAndFillsZeros) {
  const float infinity = std::numeric_limits<float>::infinity();
  size_t changed = 0;
  for (const float value : Varied(Element::kFloat, 3, std::vector<float>{infinity, 0, 1}, &changed))
    EXPECT_FALSE(std::isnan(value));
  const auto filled = Varied(Element::kFloat, 3, std::vector<float>(5), &changed);
  EXPECT_EQ(changed, 5u);
  for (const float value : filled) {
    EXPECT_GE(value, 0.5f);
    EXPECT_LT(value, 1.0f);
  }
}

TEST(Vary, LeavesAddresses) {
  Region region;
  region.base = 0x7f0000000000;
  region.size = 4096;
  std::vector<uint64_t> words = {1, region.base + 16, 2};
  VaryBytes(1, region.base, {&region, 1}, std::as_writable_bytes(std::span(words)));
  EXPECT_NE(words[0], 1u);
  EXPECT_EQ(words[1], region.base + 16);
  EXPECT_NE(words[2], 2u);
}

}  // namespace
}  // namespace rochound::capture::replay
