// SPDX-License-Identifier: MIT
#include "probe/memory_use.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace rochound::probe {
namespace {

class MemoryUseTest : public testing::Test {
 protected:
  MemoryUseTest() {
    dispatch_.kernel = "k";
    site_.action = "load";
    site_.at = {{"k.hip", 3, 7, "k"}};
  }

  // One access by these lanes of a wave.
  MemoryUse Use(uint64_t bytes, const std::function<uint64_t(uint64_t)>& address,
                uint64_t mask = ~0ull) {
    MemoryAnalyzer analyzer;
    Add(&analyzer, bytes, address, mask);
    const auto uses = analyzer.Uses();
    EXPECT_EQ(uses.size(), 1u);
    return uses.empty() ? MemoryUse{} : uses[0];
  }

  void Add(MemoryAnalyzer* analyzer, uint64_t bytes,
           const std::function<uint64_t(uint64_t)>& address, uint64_t mask = ~0ull,
           const char* space = "global") {
    site_.bytes = bytes;
    addresses_.clear();
    for (uint64_t lane = 0; lane < 64; ++lane)
      if ((mask >> lane & 1) != 0) addresses_.push_back(address(lane));
    analyzer->Add({.dispatch = &dispatch_,
                   .function = &dispatch_.kernel,
                   .group = {},
                   .group_number = 0,
                   .wave = 0,
                   .site = &site_,
                   .space = space,
                   .mask = mask,
                   .addresses = &addresses_});
  }

  Dispatch dispatch_;
  Site site_;
  std::vector<uint64_t> addresses_;
};

TEST_F(MemoryUseTest, StridesTouchTheLinesThatTheyMust) {
  for (const uint64_t stride : {1, 2, 3, 17, 32, 33}) {
    const auto address = [&](uint64_t lane) { return 0x1000 + 4 * stride * lane; };
    std::set<uint64_t> lines;
    for (uint64_t lane = 0; lane < 64; ++lane) lines.insert(address(lane) / 128);
    const MemoryUse use = Use(4, address);
    EXPECT_EQ(use.lines, lines.size()) << stride;
    EXPECT_EQ(use.needed_lines, 2u) << stride;
    EXPECT_EQ(use.used_bytes, 256u) << stride;
    EXPECT_EQ(use.pattern, stride == 1 ? "side by side" : "stride " + std::to_string(4 * stride));
    EXPECT_EQ(use.misaligned, 0u);
  }
}

TEST_F(MemoryUseTest, SharedOverlappingAndCrossingBytesCountOnce) {
  const MemoryUse same = Use(8, [](uint64_t) { return 0x2008; });
  EXPECT_EQ(same.pattern, "same address");
  EXPECT_EQ(same.lines, 1u);
  EXPECT_EQ(same.used_bytes, 8u);
  const MemoryUse backwards = Use(4, [](uint64_t lane) { return 0x3000 - 4 * lane; });
  EXPECT_EQ(backwards.pattern, "side by side, backwards");
  EXPECT_EQ(backwards.lines, 3u);  // 0x3000 itself begins a line
  EXPECT_EQ(backwards.needed_lines, 2u);
  const MemoryUse overlapping = Use(16, [](uint64_t lane) { return 0x4000 + 4 * lane; });
  EXPECT_EQ(overlapping.used_bytes, 4u * 63 + 16);
  EXPECT_EQ(overlapping.lines, 3u);
  EXPECT_EQ(overlapping.misaligned, 48u);
  const MemoryUse crossing = Use(4, [](uint64_t) { return 0x407e; });
  EXPECT_EQ(crossing.lines, 2u);
  EXPECT_EQ(crossing.misaligned, 64u);
}

TEST_F(MemoryUseTest, LanesThatRestAreStepsOfTheStride) {
  const MemoryUse every_other = Use(4, [](uint64_t lane) { return 4 * lane; }, 0x5555555555555555);
  EXPECT_EQ(every_other.pattern, "side by side");
  EXPECT_EQ(every_other.lanes, 32u);
  EXPECT_EQ(every_other.used_bytes, 128u);
  EXPECT_EQ(every_other.lines, 2u);
  EXPECT_EQ(every_other.needed_lines, 1u);
  EXPECT_EQ(Use(4, [](uint64_t) { return 64; }, 1 << 5).pattern, "one lane");
  EXPECT_EQ(Use(4, [](uint64_t lane) { return lane * lane * 4; }).pattern, "irregular");
}

TEST_F(MemoryUseTest, TheWorstPlaceComesFirstAndIsTheAnswer) {
  MemoryAnalyzer analyzer;
  const auto side_by_side = [](uint64_t lane) { return 4 * lane; };
  Add(&analyzer, 4, side_by_side);
  Add(&analyzer, 4, side_by_side, ~0ull, "lds");
  ASSERT_EQ(analyzer.Uses().size(), 1u);
  EXPECT_EQ(MemoryText(analyzer.Uses()).find("Every access to global memory touches no more"), 0u);

  site_.at[0].line = 11;
  dispatch_.process = 1;  // whose places may lie where the other's were
  Add(&analyzer, 4, [](uint64_t lane) { return 256 * lane; });
  const auto uses = analyzer.Uses();
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].at.line, 11u);
  EXPECT_EQ(uses[1].at.line, 3u);
  const std::string text = MemoryText(uses);
  EXPECT_EQ(
      text.find("k.hip:11:7 loads 32.0 times the cache lines that its bytes need: stride 256."), 0u)
      << text;
}

}  // namespace
}  // namespace rochound::probe
