// SPDX-License-Identifier: MIT
#include "capture/replay/plan.h"

#include <gtest/gtest.h>

namespace rochound::capture::replay {
namespace {

Region At(uint64_t base, uint64_t size, int32_t owner = 0, bool taken = true) {
  Region region;
  region.base = base;
  region.size = size;
  region.kind = "pool";
  region.owner = owner;
  region.taken = taken;
  return region;
}

TEST(Plan, RegionsThatShareAGranuleShareAMapping) {
  const std::vector<Region> regions = {At(0x200000, 0x100), At(0x280000, 0x1000, 1),
                                       At(0x3ff000, 0x2000), At(0x800000, 1)};
  const auto mappings = PlanMappings(regions, 0x200000);
  ASSERT_EQ(mappings.size(), 2U);
  EXPECT_EQ(mappings[0].base, 0x200000U);
  EXPECT_EQ(mappings[0].size, 0x400000U);
  EXPECT_EQ(mappings[0].regions, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(mappings[1].base, 0x800000U);
  EXPECT_EQ(mappings[1].size, 0x200000U);
  EXPECT_EQ(BytesOf(mappings), 0x600000U);
}

TEST(Plan, NeighboursOfOneOwnerAreOneAndOthersAreNot) {
  const std::vector<Region> regions = {At(0x1000, 0x1000), At(0x2000, 0x1000),
                                       At(0x3000, 0x1000, 1)};
  const auto mappings = PlanMappings(regions, 4096);
  ASSERT_EQ(mappings.size(), 2U);
  EXPECT_EQ(mappings[0].size, 0x2000U);
  EXPECT_EQ(mappings[1].owner, 1);
}

TEST(Plan, WhatWasNotTakenIsNotMapped) {
  const std::vector<Region> regions = {At(0x1000, 0x1000, 0, false), At(0x5000, 0x800)};
  const auto mappings = PlanMappings(regions, 4096);
  ASSERT_EQ(mappings.size(), 1U);
  EXPECT_EQ(mappings[0].base, 0x5000U);
  EXPECT_EQ(mappings[0].size, 0x1000U);
}

TEST(Plan, RegionOfAnAddress) {
  const std::vector<Region> regions = {At(0x1000, 0x1000), At(0x5000, 0x800)};
  EXPECT_EQ(RegionAt(regions, 0xfff), -1);
  EXPECT_EQ(RegionAt(regions, 0x1000), 0);
  EXPECT_EQ(RegionAt(regions, 0x1fff), 0);
  EXPECT_EQ(RegionAt(regions, 0x2000), -1);
  EXPECT_EQ(RegionAt(regions, 0x57ff), 1);
  EXPECT_EQ(RegionAt(regions, 0x5800), -1);
}

TEST(Plan, NamesWhatIsInTheWay) {
  const auto maps = ParseMaps(
      "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/some program\n"
      "7f0000001000-7f0000002000 rw-p 00000000 00:00 0 \n"
      "nonsense\n");
  ASSERT_EQ(maps.size(), 2U);
  EXPECT_EQ(maps[0].path, "/usr/bin/some program");
  EXPECT_EQ(maps[1].path, "");
  const std::vector<Region> regions = {At(0x7f0000000000, 0x1000), At(0x7f0000001800, 0x100)};
  const auto mappings = PlanMappings(regions, 4096);
  ASSERT_EQ(mappings.size(), 1U);
  const auto obstacle = FindObstacle(maps, mappings[0], regions);
  if (!obstacle) FAIL() << "nothing is in the way";
  EXPECT_EQ(obstacle->region, 1U);
  EXPECT_EQ(Describe(*obstacle, regions),
            "an anonymous mapping (rw-p, 0x7f0000001000-0x7f0000002000) is where region 1 (pool, "
            "0x7f0000001800 +256) has to be");
  EXPECT_FALSE(FindObstacle({maps.data(), 1}, mappings[0], regions).has_value());
}

}  // namespace
}  // namespace rochound::capture::replay
