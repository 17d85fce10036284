// SPDX-License-Identifier: MIT
#include "doctor/fault/loops.h"

#include <gtest/gtest.h>

#include <optional>

namespace rochound::doctor {
namespace {

class LoopsTest : public testing::Test {
 protected:
  void Line(const char* text, std::optional<uint64_t> target_line = {}) {
    codeobj::Instruction instruction;
    instruction.address = code_.size() * 8;
    instruction.size = 8;
    instruction.text = text;
    if (target_line) instruction.target = *target_line * 8;
    code_.push_back(instruction);
  }
  Loop Only() {
    const std::vector<Loop> loops = FindLoops(code_);
    EXPECT_EQ(loops.size(), 1u);
    return loops.empty() ? Loop{} : loops.front();
  }

  std::vector<codeobj::Instruction> code_;
};

TEST_F(LoopsTest, NoWayOut) {
  Line("s_sleep 10");
  Line("s_branch 65534", 0);
  EXPECT_EQ(Only().end, Loop::End::kNever);
}

TEST_F(LoopsTest, ConditionThatNothingChanges) {
  Line("s_mov_b32 vcc_lo, exec_lo");
  Line("v_add_nc_u32_e32 v1, 1, v1");
  Line("s_cbranch_vccnz 65530", 1);
  Line("s_endpgm");
  EXPECT_EQ(Only().end, Loop::End::kNever);
}

TEST_F(LoopsTest, FlagInMemory) {
  Line("global_load_dword v1, v0, s[2:3] glc dlc");
  Line("s_waitcnt vmcnt(0)");
  Line("v_cmp_ne_u32_e32 vcc_lo, 0, v1");
  Line("s_cbranch_vccz 65530", 0);
  Line("s_endpgm");
  const Loop loop = Only();
  EXPECT_EQ(loop.end, Loop::End::kMemory);
  EXPECT_EQ(loop.loads, std::vector<size_t>{0});
}

TEST_F(LoopsTest, FlagWithMaskOfLanes) {
  Line("flat_load_dword v2, v[0:1] glc");
  Line("s_waitcnt vmcnt(0) lgkmcnt(0)");
  Line("v_cmp_ne_u32_e32 vcc, 0, v2");
  Line("s_or_b64 s[4:5], vcc, s[4:5]");
  Line("s_andn2_b64 exec, exec, s[4:5]");
  Line("s_cbranch_execnz 65530", 0);
  Line("s_endpgm");
  EXPECT_EQ(Only().end, Loop::End::kMemory);
}

TEST_F(LoopsTest, Counter) {
  Line("s_add_i32 s2, s2, -1");
  Line("v_add_nc_u32_e32 v1, 1, v1");
  Line("s_cmp_lg_u32 s2, 0");
  Line("s_cbranch_scc1 65530", 0);
  Line("s_endpgm");
  EXPECT_EQ(Only().end, Loop::End::kWork);
}

TEST_F(LoopsTest, CounterBesideFlag) {
  Line("global_load_dword v1, v0, s[2:3] glc");
  Line("v_cmp_ne_u32_e32 vcc_lo, 0, v1");
  Line("s_cbranch_vccnz 4", 6);
  Line("s_add_i32 s2, s2, -1");
  Line("s_cmp_lg_u32 s2, 0");
  Line("s_cbranch_scc1 65530", 0);
  Line("s_endpgm");
  EXPECT_EQ(Only().end, Loop::End::kWork);
}

// What it stores changes no register, so that its condition stays as it is.
TEST_F(LoopsTest, StoreOfWhatTheConditionLooksAt) {
  Line("global_store_dword v0, v1, s[2:3]");
  Line("v_cmp_ne_u32_e32 vcc_lo, 0, v0");
  Line("s_cbranch_vccz 65530", 0);
  Line("s_endpgm");
  EXPECT_EQ(Only().end, Loop::End::kNever);
}

TEST_F(LoopsTest, CounterByItsMagnitude) {
  Line("v_add_f32_e32 v1, -1.0, v1");
  Line("v_cmp_gt_f32_e64 vcc_lo, |v1|, 0.5");
  Line("s_cbranch_vccnz 65530", 0);
  Line("s_endpgm");
  EXPECT_EQ(Only().end, Loop::End::kWork);
}

TEST_F(LoopsTest, CounterByItsNegative) {
  Line("v_add_f64 v[0:1], v[0:1], v[2:3]");
  Line("v_cmp_lt_f64_e64 vcc_lo, -|v[0:1]|, s[4:5]");
  Line("s_cbranch_vccnz 65530", 0);
  Line("s_endpgm");
  EXPECT_EQ(Only().end, Loop::End::kWork);
}

// An operand that is not understood may be anything.
TEST_F(LoopsTest, OperandThatIsNotKnown) {
  Line("v_add_f32_e32 v1, -1.0, v1");
  Line("v_cmp_gt_f32_e64 vcc_lo, something(v1), 0.5");
  Line("s_cbranch_vccnz 65530", 0);
  Line("s_endpgm");
  EXPECT_EQ(Only().end, Loop::End::kWork);
}

TEST_F(LoopsTest, Clock) {
  Line("s_memrealtime s[2:3]");
  Line("s_waitcnt lgkmcnt(0)");
  Line("s_cmp_lt_u32 s2, s4");
  Line("s_cbranch_scc1 65530", 0);
  Line("s_endpgm");
  EXPECT_EQ(Only().end, Loop::End::kWork);
}

TEST_F(LoopsTest, ListIsFollowed) {
  Line("global_load_dwordx2 v[0:1], v[0:1], off");
  Line("v_cmp_eq_u64_e32 vcc_lo, 0, v[0:1]");
  Line("s_cbranch_vccz 65530", 0);
  Line("s_endpgm");
  EXPECT_EQ(Only().end, Loop::End::kWork);
}

TEST_F(LoopsTest, LockThatIsTried) {
  Line("v_mov_b32_e32 v2, 1");
  Line("v_mov_b32_e32 v3, 0");
  Line("global_atomic_cmpswap v2, v0, v[2:3], s[2:3] glc");
  Line("s_waitcnt vmcnt(0)");
  Line("v_cmp_eq_u32_e32 vcc_lo, 0, v2");
  Line("s_cbranch_vccz 65530", 0);
  Line("s_endpgm");
  EXPECT_EQ(Only().end, Loop::End::kMemory);
}

TEST_F(LoopsTest, ExchangeThatIsTriedAgainWithTheNewValue) {
  Line("v_add_f32_e32 v2, 1.0, v3");
  Line("global_atomic_cmpswap v4, v0, v[2:3], s[2:3] glc");
  Line("s_waitcnt vmcnt(0)");
  Line("v_cmp_eq_u32_e32 vcc_lo, v4, v3");
  Line("v_mov_b32_e32 v3, v4");
  Line("s_cbranch_vccz 65530", 0);
  Line("s_endpgm");
  EXPECT_EQ(Only().end, Loop::End::kWork);
}

TEST_F(LoopsTest, InnermostFirst) {
  Line("s_add_i32 s2, s2, -1");
  Line("global_load_dword v1, v0, s[2:3] glc");
  Line("v_cmp_ne_u32_e32 vcc_lo, 0, v1");
  Line("s_cbranch_vccz 65530", 1);
  Line("s_cmp_lg_u32 s2, 0");
  Line("s_cbranch_scc1 65530", 0);
  Line("s_endpgm");
  const std::vector<Loop> loops = FindLoops(code_);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].first, 1u);
  EXPECT_EQ(loops[1].end, Loop::End::kWork);
}

}  // namespace
}  // namespace rochound::doctor
