// SPDX-License-Identifier: MIT
#include "softgpu/counters/footprint.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace rochound::softgpu {
namespace {

constexpr unsigned kAll = kMemorySpaces;

TEST(FootprintTest, LinesAreCountedOnce) {
  Footprint footprint;
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (uint64_t i = 0; i < 1024; ++i)
      footprint.Add({.address = 0x10000 + 4 * i, .bytes = 4}, MemoryAction::kLoad);
  }
  footprint.Add({.address = 0x10000 + 96, .bytes = 64}, MemoryAction::kStore);  // 3 x 32 ... 4 x 32
  footprint.Add({.address = 0x20FFC, .bytes = 8}, MemoryAction::kAtomic);       // over a page's end
  footprint.Add({.address = 0x40, .space = MemorySpace::kLds, .bytes = 4}, MemoryAction::kLoad);
  const FootprintSums sums = footprint.Count();
  const FootprintCounts& counts = sums[kAll];
  EXPECT_EQ(counts[0].read, 128u + 2);
  EXPECT_EQ(counts[1].read, 64u + 2);
  EXPECT_EQ(counts[2].read, 32u + 2);
  EXPECT_EQ(counts[0].written, 2u + 2);
  EXPECT_EQ(counts[1].written, 2u + 2);
  EXPECT_EQ(counts[2].written, 2u + 2);
  EXPECT_EQ(counts[0].touched, 128u + 2);
  EXPECT_EQ(sums[1][0].touched, 0u);
}

// Against sets of line numbers, with parts in several footprints that are merged.
TEST(FootprintTest, RandomPartsAgainstSets) {
  std::mt19937_64 random(7);
  std::array<Footprint, 3> parts;
  std::set<uint64_t> read[3];
  std::set<uint64_t> written[3];
  for (int i = 0; i < 20000; ++i) {
    MemoryPart part;
    part.address = random() % 300000 + 0x7F0000000000;
    part.bytes = static_cast<uint8_t>(1 + random() % 64);
    constexpr MemorySpace kSpaces[] = {MemorySpace::kGlobal, MemorySpace::kScratch,
                                       MemorySpace::kScalar};
    part.space = kSpaces[random() % 3];
    const auto action = static_cast<MemoryAction>(1 + random() % 3);
    if (random() % 8 != 0) part.bytes = static_cast<uint8_t>(part.bytes % 4 + 1);
    if (random() % 2 == 0) part.address &= ~uint64_t{0xFFF};  // leave holes
    parts[random() % 3].Add(part, action);
    for (unsigned size = 0; size < 3; ++size) {
      const uint64_t line = kFootprintLineBytes[size];
      for (uint64_t at = part.address / line; at <= (part.address + part.bytes - 1) / line; ++at) {
        if (action != MemoryAction::kStore) read[size].insert(at);
        if (action != MemoryAction::kLoad) written[size].insert(at);
      }
    }
  }
  parts[0].Merge(parts[1]);
  parts[0].Merge(parts[2]);
  const FootprintCounts counts = parts[0].Count()[kAll];
  for (unsigned size = 0; size < 3; ++size) {
    EXPECT_EQ(counts[size].read, read[size].size()) << size;
    EXPECT_EQ(counts[size].written, written[size].size()) << size;
    read[size].insert(written[size].begin(), written[size].end());
    EXPECT_EQ(counts[size].touched, read[size].size()) << size;
  }
}

}  // namespace
}  // namespace rochound::softgpu
