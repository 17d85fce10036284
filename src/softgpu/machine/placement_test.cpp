// SPDX-License-Identifier: MIT
#include "softgpu/machine/placement.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>
#include <vector>

#include "softgpu/machine/local_machine.h"

namespace rochound::softgpu {
namespace {

DeviceConfig Mi300x() {
  DeviceConfig config = LocalMachine::Mi300x();
  config.shader_engines = 32;
  return config;
}

auto Key(const ComputeUnit& unit) {
  return std::make_tuple(unit.xcc, unit.engine, unit.array, unit.unit);
}

TEST(Placement, GoesRoundAllUnits) {
  const Placement all(Mi300x(), {});
  EXPECT_EQ(all.unit_count(), 304u);
  std::set<decltype(Key({}))> seen;
  for (uint64_t group = 0; group < 304; ++group) seen.insert(Key(all.Of(group)));
  EXPECT_EQ(seen.size(), 304u);
  EXPECT_EQ(Key(all.Of(304)), Key(all.Of(0)));
  for (uint64_t group = 0; group < 8; ++group) EXPECT_EQ(all.Of(group).xcc, group);
}

TEST(Placement, KeepsToTheMask) {
  // Bits 0, 9 and one beyond the device.
  std::vector<uint32_t> mask(10);
  mask[0] = 1u << 0 | 1u << 9;
  mask[9] = 1u << 31;
  const Placement some(Mi300x(), mask);
  ASSERT_EQ(some.unit_count(), 2u);
  EXPECT_EQ(Key(some.Of(0)), std::make_tuple(0, 0, 0, 0));
  EXPECT_EQ(Key(some.Of(1)), std::make_tuple(1, 1, 0, 0));
  EXPECT_EQ(Key(some.Of(2)), Key(some.Of(0)));
}

TEST(Placement, NeighboursInTheMaskMakeAWorkgroupProcessor) {
  DeviceConfig config = LocalMachine::Rx6800xt();
  config.target = "gfx1100";
  config.compute_units = 96;
  config.shader_engines = 6;
  config.arrays_per_engine = 2;
  const std::vector<uint32_t> mask = {0xF};
  const Placement four(config, mask);
  ASSERT_EQ(four.unit_count(), 4u);
  EXPECT_EQ(Key(four.Of(0)), std::make_tuple(0, 0, 0, 0));
  EXPECT_EQ(Key(four.Of(1)), std::make_tuple(0, 0, 0, 1));
  EXPECT_EQ(Key(four.Of(2)), std::make_tuple(0, 1, 0, 0));
  EXPECT_EQ(Key(four.Of(3)), std::make_tuple(0, 1, 0, 1));
}

TEST(Placement, HardwareIdIsTheTargetsOwn) {
  const ComputeUnit place{.xcc = 3, .engine = 2, .array = 1, .unit = 5};
  EXPECT_EQ(HardwareId(*FindArchitecture("gfx942"), place, 6, 4),
            1u | 2u << 4 | 5u << 8 | 1u << 12 | 2u << 13);
  // Unit 5 is the second of workgroup processor 2.
  EXPECT_EQ(HardwareId(*FindArchitecture("gfx1100"), place, 3, 2),
            1u | 3u << 8 | 2u << 10 | 1u << 16 | 2u << 18);
}

}  // namespace
}  // namespace rochound::softgpu
