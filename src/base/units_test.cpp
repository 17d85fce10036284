// SPDX-License-Identifier: MIT
#include "base/units.h"

#include <gtest/gtest.h>

namespace rochound::base {
namespace {

TEST(UnitsTest, TimesHaveOneMeaningOrNone) {
  EXPECT_EQ(ParseTime("500ms"), 500'000'000u);
  EXPECT_EQ(ParseTime("30s"), 30'000'000'000u);
  EXPECT_EQ(ParseTime("1.5"), 1'500'000'000u);
  EXPECT_EQ(ParseTime("2m"), 120'000'000'000u);
  EXPECT_EQ(ParseTime("7us"), 7'000u);
  for (const char* text :
       {"", "500MS", "2M", "5S", "5 s", "5sec", "ms", "-1s", "0s", "inf", "1e30s"})
    EXPECT_EQ(ParseTime(text), std::nullopt) << text;
}

TEST(UnitsTest, SizesHaveABinaryUnit) {
  EXPECT_EQ(ParseSize("64KiB"), 65536u);
  EXPECT_EQ(ParseSize("1gib"), 1u << 30);
  for (const char* text : {"", "64", "64M", "64MB", "64ms"})
    EXPECT_EQ(ParseSize(text), std::nullopt) << text;
}

TEST(UnitsTest, TimesAreShort) {
  EXPECT_EQ(TimeText(17), "17 ns");
  EXPECT_EQ(TimeText(1'234), "1.2 us");
  EXPECT_EQ(TimeText(839'200'000), "839.2 ms");
  EXPECT_EQ(TimeText(1'440'000'000), "1.44 s");
}

TEST(Units, SizesHaveOneDigit) {
  EXPECT_EQ(SizeText(0), "0 B");
  EXPECT_EQ(SizeText(1023), "1023 B");
  EXPECT_EQ(SizeText(1024), "1.0 KiB");
  EXPECT_EQ(SizeText(1536 << 10), "1.5 MiB");
  EXPECT_EQ(SizeText(UINT64_MAX), "16384.0 PiB");
}

}  // namespace
}  // namespace rochound::base
