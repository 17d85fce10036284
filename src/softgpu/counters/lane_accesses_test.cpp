// SPDX-License-Identifier: MIT
#include "softgpu/counters/lane_accesses.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace rochound::softgpu {
namespace {

using enum LdsGrouping;

// One part per lane, at `place(lane)`.
std::vector<MemoryPart> Parts(MemorySpace space, unsigned lanes, unsigned bytes,
                              const std::function<uint64_t(unsigned)>& place) {
  std::vector<MemoryPart> parts;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    parts.push_back({place(lane), space, static_cast<uint8_t>(bytes), static_cast<uint8_t>(lane)});
  }
  return parts;
}

LdsCost Lds(LdsGrouping grouping, MemoryAction action, unsigned lanes, unsigned bytes,
            const std::function<uint64_t(unsigned)>& place) {
  return CountLdsCycles(grouping, action, bytes, Parts(MemorySpace::kLds, lanes, bytes, place));
}

unsigned Lines(unsigned lanes, unsigned bytes, unsigned line_bytes,
               const std::function<uint64_t(unsigned)>& place) {
  return CountLines(Parts(MemorySpace::kGlobal, lanes, bytes, place), MemorySpace::kGlobal,
                    line_bytes);
}

TEST(LinesTest, NeighboursShareLines) {
  EXPECT_EQ(Lines(64, 4, 128, [](unsigned lane) { return 4096 + lane * 4; }), 2u);
  EXPECT_EQ(Lines(64, 4, 64, [](unsigned lane) { return 4096 + lane * 4; }), 4u);
  EXPECT_EQ(Lines(64, 4, 128, [](unsigned lane) { return 4096 + 4 + lane * 4; }), 3u);
  EXPECT_EQ(Lines(64, 16, 128, [](unsigned lane) { return 4096 + lane * 16; }), 8u);
}

TEST(LinesTest, OrderDoesNotMatter) {
  EXPECT_EQ(Lines(64, 4, 128, [](unsigned lane) { return 4096 + (63 - lane) * 4; }), 2u);
  EXPECT_EQ(Lines(64, 4, 128, [](unsigned lane) { return 4096 + lane % 2 * 1024; }), 2u);
  EXPECT_EQ(Lines(64, 4, 128, [](unsigned lane) { return 4096 + lane * 37 % 64 * 128; }), 64u);
}

TEST(LinesTest, AnAccessAcrossALineTouchesBoth) {
  EXPECT_EQ(Lines(1, 8, 64, [](unsigned) { return 60; }), 2u);
  EXPECT_EQ(Lines(1, 4, 64, [](unsigned) { return 60; }), 1u);
  EXPECT_EQ(Lines(2, 8, 64, [](unsigned) { return 60; }), 2u);
}

TEST(LinesTest, NoLaneNoLine) {
  EXPECT_EQ(Lines(0, 4, 64, [](unsigned) { return 0; }), 0u);
  const auto parts = Parts(MemorySpace::kLds, 64, 4, [](unsigned lane) { return lane * 4; });
  EXPECT_EQ(CountLines(parts, MemorySpace::kGlobal, 64), 0u);
}

TEST(LdsTest, ConsecutiveDwordsDoNotConflict) {
  for (LdsGrouping grouping : {kConsecutive, kCdna, kCdna4}) {
    for (MemoryAction action : {MemoryAction::kLoad, MemoryAction::kStore, MemoryAction::kAtomic}) {
      const LdsCost cost = Lds(grouping, action, 64, 4, [](unsigned lane) { return lane * 4; });
      EXPECT_EQ(cost.cycles, 2u);
      EXPECT_EQ(cost.bank_conflicts, 0u);
      EXPECT_EQ(cost.address_conflicts, 0u);
    }
  }
}

TEST(LdsTest, StridesConflictAsOftenAsTheyMeet) {
  const unsigned expected[][2] = {{1, 0}, {2, 1},   {3, 0},   {4, 3},
                                  {8, 7}, {16, 15}, {32, 31}, {33, 0}};
  for (const auto& [stride, conflicts] : expected) {
    const LdsCost cost = Lds(kConsecutive, MemoryAction::kLoad, 32, 4,
                             [stride = stride](unsigned lane) { return lane * stride * 4; });
    EXPECT_EQ(cost.bank_conflicts, conflicts) << stride;
    EXPECT_EQ(cost.cycles, conflicts + 1) << stride;
  }
}

TEST(LdsTest, TheSameDwordIsBroadcast) {
  EXPECT_EQ(Lds(kCdna, MemoryAction::kLoad, 64, 4, [](unsigned) { return 8; }).cycles, 2u);
  // Bytes of one dword, too.
  EXPECT_EQ(Lds(kCdna, MemoryAction::kLoad, 32, 1, [](unsigned lane) { return lane; }).cycles, 1u);
}

TEST(LdsTest, AtomicsOnOneDwordWaitForEachOther) {
  const LdsCost cost = Lds(kCdna, MemoryAction::kAtomic, 64, 4, [](unsigned) { return 8; });
  EXPECT_EQ(cost.bank_conflicts, 0u);
  EXPECT_EQ(cost.address_conflicts, 2u * 31);
  EXPECT_EQ(cost.cycles, 64u);
}

// Lanes l and l + 8 meet in a bank if every lane has its own 16 bytes of 128. Neighbours do not
// meet; on CDNA, lane 0 goes with lanes 1 to 3 and 20 to 23.
TEST(LdsTest, SixteenByteReadsGoTogetherCrosswiseOnCdna) {
  auto linear = [](unsigned lane) { return lane * 16; };
  EXPECT_EQ(Lds(kConsecutive, MemoryAction::kLoad, 64, 16, linear).cycles, 8u);
  EXPECT_EQ(Lds(kCdna, MemoryAction::kLoad, 64, 16, linear).cycles, 8u);
  EXPECT_EQ(Lds(kCdna4, MemoryAction::kLoad, 64, 16, linear).cycles, 4u);
  EXPECT_EQ(Lds(kCdna4, MemoryAction::kStore, 64, 16, linear).cycles, 8u);
  // Lanes 16 to 23 want what lanes 0 to 7 want one row further: 20 to 23 meet 4 to 7 only.
  auto folded = [](unsigned lane) { return lane % 16 * 16 + lane / 16 * 256; };
  EXPECT_EQ(Lds(kConsecutive, MemoryAction::kLoad, 32, 16, folded).bank_conflicts, 0u);
  EXPECT_EQ(Lds(kCdna, MemoryAction::kLoad, 32, 16, folded).bank_conflicts, 0u);
  // Here they meet 0 to 3.
  auto meeting = [](unsigned lane) { return (lane < 16 ? lane : (lane + 12) % 16 + 16) * 16; };
  EXPECT_EQ(Lds(kConsecutive, MemoryAction::kLoad, 32, 16, meeting).bank_conflicts, 0u);
  EXPECT_GT(Lds(kCdna, MemoryAction::kLoad, 32, 16, meeting).bank_conflicts, 0u);
  EXPECT_EQ(Lds(kCdna, MemoryAction::kStore, 32, 16, meeting).bank_conflicts, 0u);
}

TEST(LdsTest, Cdna4ReadsSeeSixtyFourBanks) {
  auto stride = [](unsigned lane) { return lane * 128; };
  EXPECT_EQ(Lds(kCdna, MemoryAction::kLoad, 32, 4, stride).bank_conflicts, 31u);
  EXPECT_EQ(Lds(kCdna4, MemoryAction::kLoad, 32, 4, stride).bank_conflicts, 15u);
  EXPECT_EQ(Lds(kCdna4, MemoryAction::kStore, 32, 4, stride).bank_conflicts, 31u);
}

TEST(LdsTest, InactiveLanesCostNothing) {
  const auto parts = Parts(MemorySpace::kLds, 64, 4, [](unsigned lane) { return lane * 4; });
  const std::span<const MemoryPart> all(parts);
  EXPECT_EQ(CountLdsCycles(kCdna, MemoryAction::kLoad, 4, all.first(0)).cycles, 0u);
  EXPECT_EQ(CountLdsCycles(kCdna, MemoryAction::kLoad, 4, all.first(1)).cycles, 1u);
  EXPECT_EQ(CountLdsCycles(kCdna, MemoryAction::kLoad, 4, all.last(3)).cycles, 1u);
}

}  // namespace
}  // namespace rochound::softgpu
