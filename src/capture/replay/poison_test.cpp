// SPDX-License-Identifier: MIT
#include "capture/replay/poison.h"

#include <gtest/gtest.h>

#include <cstring>

namespace rochound::capture::replay {
namespace {

constexpr uint64_t kBase = 0x7f0000000000;
using Bytes = std::vector<std::byte>;

std::vector<Region> OneRegion(uint64_t size) {
  Region region;
  region.base = kBase;
  region.size = size;
  region.taken = true;
  return {region};
}

Bytes Filled(size_t size, int value) { return Bytes(size, static_cast<std::byte>(value)); }

TEST(Poison, NoByteKeepsItsValue) {
  const auto regions = OneRegion(16384);
  const Poison poison({{kBase + 8, 12000}}, regions);
  const Bytes after = Filled(16384, 7);
  Bytes bytes = after;
  poison.Apply(kBase, after, bytes);
  for (size_t i = 0; i < bytes.size(); ++i)
    EXPECT_EQ(bytes[i] != after[i], i >= 8 && i < 12008) << i;
}

TEST(Poison, PointersStay) {
  const auto regions = OneRegion(4096);
  const Poison poison({{kBase, 4096}}, regions);
  Bytes after = Filled(4096, 0);
  const uint64_t pointer = kBase + 100;
  memcpy(after.data() + 16, &pointer, 8);
  Bytes bytes = after;
  poison.Apply(kBase, after, bytes);
  EXPECT_EQ(memcmp(bytes.data() + 16, &pointer, 8), 0);
  EXPECT_NE(bytes[15], after[15]);
}

// The captured code writes bytes 100 to 4999; the others keep the pattern.
TEST(Poison, OtherBuildsHaveToLeaveTheSame) {
  const auto regions = OneRegion(12288);
  Poison poison({{kBase, 12288}}, regions);
  const Bytes after = Filled(12288, 3);
  Bytes poisoned = after;
  poison.Apply(kBase, after, poisoned);
  Bytes got = poisoned;
  std::copy(after.begin() + 100, after.begin() + 5000, got.begin() + 100);
  // In two pieces that do not end with a page.
  const std::span<const std::byte> all = got, left = after;
  poison.Learn(kBase, left.first(2048), all.first(2048));
  poison.Learn(kBase + 2048, left.subspan(2048), all.subspan(2048));
  EXPECT_EQ(poison.written_bytes(), 4900U);
  Bytes expected = after;
  poison.Expect(kBase, expected);
  EXPECT_EQ(expected, got);
  const std::vector<Range> touched = poison.Touched();  // in words of 8 bytes
  ASSERT_EQ(touched.size(), 1U);
  EXPECT_EQ(touched[0].base, kBase + 96);
  EXPECT_EQ(touched[0].size, 5000U - 96);
  EXPECT_TRUE(poison.CapturedKept(kBase + 96, 4));
  EXPECT_FALSE(poison.CapturedKept(kBase + 98, 4));
  EXPECT_TRUE(poison.CapturedKept(kBase + 9000, 8));
  EXPECT_TRUE(poison.IsPattern(kBase + 200, left.subspan(200, 4),
                               std::span<const std::byte>(poisoned).subspan(200, 4)));
  EXPECT_FALSE(poison.IsPattern(kBase + 200, left.subspan(200, 4), all.subspan(200, 4)));
}

TEST(Poison, RangesAsText) {
  const std::vector<Range> ranges = {{0x7f0000000000, 4096}, {0x1000, 8}};
  EXPECT_EQ(RangesText(ranges), "0x7f0000000000+4096,0x1000+8");
  const auto read = ParseRanges(RangesText(ranges));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].base, 0x7f0000000000U);
  EXPECT_EQ(read[1].size, 8U);
  EXPECT_TRUE(ParseRanges("").empty());
}

}  // namespace
}  // namespace rochound::capture::replay
