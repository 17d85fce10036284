// SPDX-License-Identifier: MIT
#include "doctor/fault/reach.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>

namespace rochound::doctor {
namespace {

constexpr uint64_t kKernarg = 0x7000'0000'1000;
constexpr uint64_t kData = 0x7100'0000'0000;

// A kernel of gfx1030 whose arguments are in s[0:1] and whose workgroup's number is in s2.
class ReachTest : public testing::Test {
 protected:
  ReachTest() {
    kernel_.descriptor.properties = 1 << 3;
    kernel_.descriptor.rsrc2 = 2 << 1 | 1 << 7;
    launch_.kernarg = kKernarg;
    launch_.workgroup = {64, 1, 1};
    launch_.grid = {256, 1, 1};
  }

  void Line(const char* text, std::optional<uint64_t> target = {}) {
    codeobj::Instruction instruction;
    instruction.address = code_.size() * 8;
    instruction.size = 8;
    instruction.text = text;
    instruction.target = target;
    code_.push_back(instruction);
  }
  static uint64_t At(size_t line) { return line * 8; }

  Reach Find(std::vector<uint64_t> arguments) {
    bytes_.assign(reinterpret_cast<const char*>(arguments.data()), arguments.size() * 8);
    launch_.kernarg_bytes = bytes_;
    return FindReach(code_, "gfx1030", kernel_, launch_,
                     [&](uint64_t address, void* to, size_t bytes) {
                       const auto found = memory_.find(address);
                       if (found == memory_.end()) return false;
                       memcpy(to, &found->second, bytes);
                       return true;
                     });
  }

  // The store or load at this line.
  static Access OnlyAt(const Reach& reach, size_t line) {
    for (const Access& access : reach.accesses)
      if (access.instruction == line) return access;
    ADD_FAILURE() << "nothing is touched at line " << line;
    return {};
  }
  static bool Touched(const Reach& reach, size_t line) {
    for (const Access& access : reach.accesses)
      if (access.instruction == line) return true;
    return false;
  }

  std::vector<codeobj::Instruction> code_;
  codeobj::Kernel kernel_;
  LaunchFacts launch_;
  std::string bytes_;
  std::map<uint64_t, uint64_t> memory_;
};

TEST_F(ReachTest, AnIndexByWorkItemIsBoundedByTheGrid) {
  Line("s_load_dwordx2 s[4:5], s[0:1], 0x0");
  Line("v_lshl_add_u32 v0, s2, 6, v0");
  Line("v_lshlrev_b32_e32 v0, 2, v0");
  Line("global_store_dword v0, v1, s[4:5]");
  Line("s_endpgm");
  const Reach reach = Find({kData});
  ASSERT_TRUE(reach.complete);
  const Access store = OnlyAt(reach, 3);
  EXPECT_EQ(store.kind, Access::Kind::kWrite);
  EXPECT_TRUE(store.bounded);
  EXPECT_EQ(store.first, kData);
  EXPECT_EQ(store.last, kData + 256 * 4 - 1);
  EXPECT_TRUE(store.Touches(kData, 4096));
  EXPECT_FALSE(store.Touches(kData + 4096, 4096));
  EXPECT_FALSE(store.Touches(kData - 4096, 4096));
}

TEST_F(ReachTest, ACarryGoesIntoTheUpperHalf) {
  Line("s_load_dwordx2 s[4:5], s[0:1], 0x0");
  Line("v_lshlrev_b32_e32 v0, 2, v0");
  Line("v_add_co_u32 v2, vcc_lo, s4, v0");
  Line("v_add_co_ci_u32_e64 v3, vcc_lo, s5, 0, vcc_lo");
  Line("global_load_dword v1, v[2:3], off offset:16");
  Line("s_endpgm");
  const uint64_t close = 0x7100'ffff'ff80;  // the range crosses a multiple of 4 GiB
  const Access load = OnlyAt(Find({close}), 4);
  EXPECT_TRUE(load.bounded);
  EXPECT_EQ(load.first, close + 16);
  EXPECT_EQ(load.last, close + 16 + 63 * 4 + 3);
}

TEST_F(ReachTest, ABranchThatTheArgumentsDecideIsFollowedOneWay) {
  Line("s_load_dwordx2 s[4:5], s[0:1], 0x0");
  Line("s_cmp_eq_u64 s[4:5], 0");
  Line("s_cbranch_scc1 2", At(4));
  Line("global_store_dword v0, v1, s[4:5]");
  Line("s_endpgm");
  EXPECT_FALSE(Touched(Find({0}), 3));
  EXPECT_TRUE(Touched(Find({kData}), 3));
}

TEST_F(ReachTest, LanesThatAComparisonLeavesOutTouchNothing) {
  Line("s_load_dwordx2 s[4:5], s[0:1], 0x0");
  Line("v_cmp_lt_u32_e32 vcc_lo, 0x3e8, v0");
  Line("s_and_saveexec_b32 s3, vcc_lo");
  Line("s_cbranch_execz 2", At(5));
  Line("global_store_dword v0, v1, s[4:5]");
  Line("s_endpgm");
  EXPECT_FALSE(Touched(Find({kData}), 4));
}

TEST_F(ReachTest, AComparisonNarrowsTheIndex) {
  Line("s_load_dwordx4 s[4:7], s[0:1], 0x0");
  Line("v_lshl_add_u32 v0, s2, 6, v0");
  Line("v_cmp_gt_i32_e32 vcc_lo, s6, v0");
  Line("s_and_saveexec_b32 s3, vcc_lo");
  Line("s_cbranch_execz 3", At(7));
  Line("v_lshlrev_b32_e32 v1, 2, v0");
  Line("global_store_dword v1, v0, s[4:5]");
  Line("s_endpgm");
  EXPECT_EQ(OnlyAt(Find({kData, 100}), 6).last, kData + 100 * 4 - 1);
}

TEST_F(ReachTest, APointerInMemoryIsReadFromWhatWasSaved) {
  memory_[kData] = 0x7200'0000'0000;
  Line("s_load_dwordx2 s[4:5], s[0:1], 0x0");
  Line("s_load_dwordx2 s[6:7], s[4:5], 0x0");
  Line("global_store_dword v0, v1, s[6:7]");
  Line("s_endpgm");
  const Reach reach = Find({kData});
  const Access store = OnlyAt(reach, 2);
  EXPECT_TRUE(store.bounded);
  EXPECT_EQ(store.first, 0x7200'0000'0000u);
  ASSERT_EQ(std::popcount(store.origins), 1);
  const Origin& origin = reach.origins[static_cast<size_t>(std::countr_zero(store.origins))];
  EXPECT_EQ(origin.kind, Origin::Kind::kMemory);
  EXPECT_TRUE(origin.exact);
  EXPECT_EQ(origin.first, kData);
}

TEST_F(ReachTest, AnIndexThatIsNotKnownReachesAnything) {
  Line("s_load_dwordx4 s[4:7], s[0:1], 0x0");
  Line("v_lshlrev_b32_e32 v0, 2, v0");
  Line("global_load_dword v2, v0, s[4:5]");
  Line("v_ashrrev_i32_e32 v3, 31, v2");
  Line("v_lshlrev_b64 v[2:3], 2, v[2:3]");
  Line("v_add_co_u32 v2, vcc_lo, s6, v2");
  Line("v_add_co_ci_u32_e32 v3, vcc_lo, s7, v3, vcc_lo");
  Line("global_store_dword v[2:3], v1, off");
  Line("s_endpgm");
  const Reach reach = Find({kData, kData + 0x10000000});
  EXPECT_TRUE(OnlyAt(reach, 2).bounded);
  const Access store = OnlyAt(reach, 7);
  EXPECT_FALSE(store.bounded);
  EXPECT_EQ(std::popcount(store.origins), 2);  // the array and the index
}

TEST_F(ReachTest, ALoopEndsAndItsPointerIsUnknown) {
  Line("s_load_dwordx2 s[4:5], s[0:1], 0x0");
  Line("s_load_dwordx2 s[6:7], s[4:5], 0x0");
  Line("s_add_u32 s4, s4, 4");
  Line("s_addc_u32 s5, s5, 0");
  Line("s_cmp_lg_u64 s[6:7], 0");
  Line("s_cbranch_scc1 -5", At(1));
  Line("s_endpgm");
  const Reach reach = Find({kData});
  EXPECT_TRUE(reach.complete);
  EXPECT_FALSE(OnlyAt(reach, 1).bounded);
}

TEST_F(ReachTest, ACallIsNotFollowed) {
  Line("s_load_dwordx2 s[4:5], s[0:1], 0x0");
  Line("s_swappc_b64 s[30:31], s[4:5]");
  Line("s_endpgm");
  const Reach reach = Find({0x7000});
  EXPECT_FALSE(reach.complete);
  const Access call = OnlyAt(reach, 1);
  EXPECT_EQ(call.kind, Access::Kind::kCall);
  EXPECT_EQ(call.first, 0x7000u);
}

}  // namespace
}  // namespace rochound::doctor
