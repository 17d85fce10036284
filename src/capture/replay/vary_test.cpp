// SPDX-License-Identifier: MIT
#include "capture/replay/vary.h"

#include <gtest/gtest.h>

#include <algorithm>
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

TEST(Vary, KeepsIntegersInTheirRange) {
  const std::vector<int32_t> old = {-3, 5, 5, 5, 4, 0, 1, 2};
  for (const bool in_range : {true, false}) {
    std::vector<int32_t> values = old;
    EXPECT_GT(VaryIntegers(Element::kInt32, in_range, 1, std::as_writable_bytes(std::span(values))),
              3u);
    for (const int32_t value : values) {
      EXPECT_GE(value, -3);
      EXPECT_LE(value, 5);
      if (!in_range) {
        EXPECT_NE(std::find(old.begin(), old.end(), value), old.end());
      }
    }
    std::vector<int32_t> sorted = values, before = old;
    std::sort(sorted.begin(), sorted.end());
    std::sort(before.begin(), before.end());
    EXPECT_NE(sorted, before);  // results that depend on values alone change, too
  }
}

TEST(Vary, ChangesIntegersThatAreAllTheSame) {
  std::vector<uint64_t> zeros(64);
  EXPECT_GT(VaryIntegers(Element::kUint64, true, 1, std::as_writable_bytes(std::span(zeros))), 16u);
  for (const uint64_t value : zeros) EXPECT_LE(value, 1u);
  std::vector<int8_t> sevens(64, -7);
  EXPECT_GT(VaryIntegers(Element::kInt8, true, 1, std::as_writable_bytes(std::span(sevens))), 16u);
  for (const int8_t value : sevens) {
    EXPECT_LE(value, 0);
    EXPECT_GE(value, -7);
  }
  std::vector<uint64_t> all = {0, UINT64_MAX, 1, 2};
  EXPECT_GT(VaryIntegers(Element::kUint64, true, 1, std::as_writable_bytes(std::span(all))), 2u);
}

TEST(Vary, AddsSpecialNumbers) {
  std::vector<float> values(4096, 1);
  AddSpecial(Element::kFloat, true, 1, std::as_writable_bytes(std::span(values)));
  const auto count = [&](auto&& is) { return std::count_if(values.begin(), values.end(), is); };
  EXPECT_GT(count([](float value) { return std::isnan(value); }), 10);
  EXPECT_GT(count([](float value) { return std::isinf(value) && value < 0; }), 10);
  EXPECT_GT(count([](float value) { return std::fpclassify(value) == FP_SUBNORMAL; }), 10);
  EXPECT_GT(count([](float value) { return value == std::numeric_limits<float>::max(); }), 10);
  EXPECT_GT(count([](float value) { return value == 1; }), 3000);
  std::vector<double> gentle(4096, 1);
  AddSpecial(Element::kDouble, false, 1, std::as_writable_bytes(std::span(gentle)));
  for (const double value : gentle)
    EXPECT_TRUE(std::isnan(value) || std::isinf(value) || value == 0 || value == 1);
}

}  // namespace
}  // namespace rochound::capture::replay
