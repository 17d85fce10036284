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
    MemoryAnalyzer analyzer{AnalyzerOutput{}};
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
    analyzer->OnAccess({.dispatch = &dispatch_,
                        .function = &dispatch_.kernel,
                        .group = {},
                        .group_number = 0,
                        .wave = 0,
                        .site = worse_ != nullptr ? worse_ : &site_,
                        .space = space,
                        .mask = mask,
                        .addresses = &addresses_});
  }

  Dispatch dispatch_;
  Site site_;
  const Site* worse_ = nullptr;  // instead
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
  MemoryAnalyzer analyzer{AnalyzerOutput{}};
  const auto side_by_side = [](uint64_t lane) { return 4 * lane; };
  Add(&analyzer, 4, side_by_side);
  Add(&analyzer, 4, side_by_side, ~0ull, "lds");
  ASSERT_EQ(analyzer.Uses().size(), 2u);
  EXPECT_EQ(analyzer.Answer({}).find("Every access to global memory touches no more cache lines "
                                     "than it needs.\nNo access to LDS has bank conflicts.\n"),
            0u);

  Site worse = site_;
  worse.at[0].line = 11;
  worse_ = &worse;
  Add(&analyzer, 4, [](uint64_t lane) { return 256 * lane; });
  const auto uses = analyzer.Uses();
  ASSERT_EQ(uses.size(), 3u);
  EXPECT_EQ(uses[0].at.line, 11u);
  EXPECT_EQ(uses[1].at.line, 3u);
  const std::string text = analyzer.Answer({});
  EXPECT_EQ(
      text.find("k.hip:11:7 loads 32.0 times the cache lines that its bytes need: stride 256."), 0u)
      << text;
}

TEST_F(MemoryUseTest, LdsConflictsFollowTheTarget) {
  const auto conflicts = [&](const char* target, uint64_t bytes, uint64_t stride) {
    dispatch_.target = target;
    MemoryAnalyzer analyzer{AnalyzerOutput{}};
    Add(&analyzer, bytes, [&](uint64_t lane) { return stride * lane; }, ~0ull, "lds");
    return analyzer.Uses()[0].bank_conflicts;
  };
  // Two groups of 32 lanes, 31 rounds too many in each; gfx950 has twice the banks for reads.
  EXPECT_EQ(conflicts("gfx942", 4, 128), 62u);
  EXPECT_EQ(conflicts("gfx1030", 4, 128), 62u);
  EXPECT_EQ(conflicts("gfx950", 4, 128), 30u);
  EXPECT_EQ(conflicts("gfx942", 4, 132), 0u);
  EXPECT_EQ(conflicts("gfx942", 8, 8), 0u);
  EXPECT_EQ(conflicts("gfx942", 16, 16), 0u);
  // Two instructions of 16 bytes each; eight lanes of a group want four dwords in half the banks.
  EXPECT_EQ(conflicts("gfx1030", 32, 32), 16u);
}

}  // namespace
}  // namespace rochound::probe
