// SPDX-License-Identifier: MIT
#include "softgpu/isa/instruction.h"

#include <gtest/gtest.h>

namespace rochound::softgpu {
namespace {

AsmInstruction Parse(const char* text) {
  std::string why;
  auto instruction = ParseAssembly(text, &why);
  EXPECT_TRUE(instruction) << text << ": " << why;
  return instruction.value_or(AsmInstruction{});
}

TEST(ParseAssembly, RegistersOfEveryKind) {
  AsmInstruction i = Parse("\tv_mad_u64_u32 v[2:3], vcc, s7, v255, a[4:5]");
  EXPECT_EQ(i.mnemonic, "v_mad_u64_u32");
  ASSERT_EQ(i.operands.size(), 5u);
  EXPECT_EQ(i.operands[0].kind, AsmOperand::Kind::kVgpr);
  EXPECT_EQ(i.operands[0].index, 2);
  EXPECT_EQ(i.operands[0].dwords, 2);
  EXPECT_EQ(i.operands[1].kind, AsmOperand::Kind::kSgpr);
  EXPECT_EQ(i.operands[1].index, kVccLo);
  EXPECT_EQ(i.operands[1].dwords, 2);
  EXPECT_EQ(i.operands[2].index, 7);
  EXPECT_EQ(i.operands[3].index, 255);
  EXPECT_EQ(i.operands[4].kind, AsmOperand::Kind::kAgpr);
  EXPECT_EQ(i.operands[4].index, 4);
}

TEST(ParseAssembly, SuffixesNameTheForm) {
  EXPECT_EQ(Parse("v_add_f32_e32 v0, v1, v2").mnemonic, "v_add_f32");
  EXPECT_EQ(Parse("v_add_f32_e64 v0, v1, v2").mnemonic, "v_add_f32");
  AsmInstruction dpp = Parse("v_add_f32_dpp v0, v1, v2 row_shl:1 row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(dpp.mnemonic, "v_add_f32");
  EXPECT_TRUE(dpp.modifiers.is_dpp);
  EXPECT_FALSE(dpp.modifiers.is_sdwa);
}

TEST(ParseAssembly, SignsBelongToRegistersOrNumbers) {
  AsmInstruction i = Parse("v_fma_f32 v0, -v1, |v2|, -|v3| clamp mul:2");
  EXPECT_TRUE(i.operands[1].negate);
  EXPECT_FALSE(i.operands[1].absolute);
  EXPECT_TRUE(i.operands[2].absolute);
  EXPECT_TRUE(i.operands[3].negate);
  EXPECT_TRUE(i.operands[3].absolute);
  EXPECT_TRUE(i.modifiers.clamp);
  EXPECT_EQ(i.modifiers.omod, 1);
  AsmInstruction n = Parse("v_add_f32_e64 v0, -1.0, -16");
  EXPECT_FALSE(n.operands[1].negate);
  EXPECT_EQ(n.operands[1].kind, AsmOperand::Kind::kFloat);
  EXPECT_EQ(n.operands[1].real, -1.0);
  EXPECT_EQ(n.operands[2].kind, AsmOperand::Kind::kInline);
  EXPECT_EQ(n.operands[2].integer, -16);
}

TEST(ParseAssembly, LiteralsAreHexadecimal) {
  AsmInstruction i = Parse("s_mov_b32 s0, 0x3f800000");
  EXPECT_EQ(i.operands[1].kind, AsmOperand::Kind::kLiteral);
  EXPECT_EQ(i.operands[1].integer, 0x3f800000);
}

TEST(ParseAssembly, AForcedLiteralIsALiteral) {
  for (const char* text : {"s_addc_u32 s1, s1, lit(0xffffffff)", "s_mov_b32 s1, lit(5)"}) {
    EXPECT_EQ(Parse(text).operands.back().kind, AsmOperand::Kind::kLiteral) << text;
  }
  EXPECT_EQ(Parse("s_mov_b32 s1, lit(5)").operands[1].integer, 5);
}

TEST(ParseAssembly, MemoryForms) {
  AsmInstruction global = Parse("global_load_dwordx4 v[0:3], v4, s[2:3] offset:-16 glc");
  EXPECT_EQ(global.modifiers.offset, -16);
  EXPECT_TRUE(global.modifiers.glc);
  ASSERT_EQ(global.operands.size(), 3u);
  AsmInstruction off = Parse("global_store_dword v[0:1], v2, off");
  EXPECT_EQ(off.operands[2].kind, AsmOperand::Kind::kOff);
  AsmInstruction buffer = Parse("buffer_load_dword v1, v2, s[0:3], 0 offen offset:4");
  EXPECT_TRUE(buffer.modifiers.offen);
  EXPECT_FALSE(buffer.modifiers.idxen);
  EXPECT_EQ(buffer.modifiers.offset, 4);
  AsmInstruction ds = Parse("ds_read2_b32 v[0:1], v2 offset0:3 offset1:7");
  EXPECT_EQ(ds.modifiers.offset0, 3);
  EXPECT_EQ(ds.modifiers.offset1, 7);
}

TEST(ParseAssembly, PackedSelectors) {
  AsmInstruction i =
      Parse("v_pk_fma_f16 v0, v1, v2, v3 op_sel:[0,1,0] op_sel_hi:[1,0,1] neg_lo:[1,0,0]");
  EXPECT_EQ(i.modifiers.op_sel, 0b010);
  EXPECT_EQ(i.modifiers.op_sel_hi, 0b101);
  EXPECT_TRUE(i.modifiers.has_op_sel_hi);
  EXPECT_EQ(i.modifiers.neg_lo, 0b001);
}

TEST(ParseAssembly, SdwaSelectors) {
  AsmInstruction i = Parse(
      "v_add_u32_sdwa v0, sext(v1), v2 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:WORD_1 "
      "src1_sel:DWORD");
  EXPECT_TRUE(i.modifiers.is_sdwa);
  EXPECT_TRUE(i.operands[1].sign_extend);
  EXPECT_EQ(i.modifiers.dst_sel, SdwaSelect::kByte1);
  EXPECT_EQ(i.modifiers.dst_unused, SdwaUnused::kPad);
  EXPECT_EQ(i.modifiers.src_sel[0], SdwaSelect::kWord1);
}

TEST(ParseAssembly, FreeFormOperandsAreLeftAlone) {
  EXPECT_TRUE(Parse("s_waitcnt vmcnt(0) lgkmcnt(0)").operands.empty());
  EXPECT_EQ(Parse("s_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 4)").operands[1].kind,
            AsmOperand::Kind::kText);
}

TEST(ParseAssembly, HalvesOfRegistersAreSelectors) {
  AsmInstruction i = Parse("v_fma_f16 v2.h, v14.l, v3.h, -v4.h");
  EXPECT_EQ(i.modifiers.op_sel, 0b1110);
  EXPECT_EQ(i.operands[0].index, 2);
  EXPECT_EQ(i.operands[2].index, 3);
  EXPECT_TRUE(i.operands[3].negate);
  EXPECT_EQ(Parse("v_cmp_lt_f16_e32 vcc_lo, v1.h, v2.l").modifiers.op_sel, 0b0001);
  EXPECT_EQ(Parse("v_cmpx_lt_f16_e64 v1.l, v2.h").modifiers.op_sel, 0b0010);
}

TEST(ParseAssembly, APairIsTwoInstructions) {
  AsmInstruction i =
      Parse("v_dual_mul_f32 v0, s1, v2 :: v_dual_cndmask_b32 v3, v4, v5                // 0000");
  EXPECT_EQ(i.mnemonic, "v_dual_mul_f32");
  EXPECT_EQ(i.operands.size(), 3u);
  ASSERT_EQ(i.second.size(), 1u);
  EXPECT_EQ(i.second[0].mnemonic, "v_dual_cndmask_b32");
  ASSERT_EQ(i.second[0].operands.size(), 4u);
  EXPECT_EQ(i.second[0].operands[3].index, kVccLo);
}

TEST(ParseAssembly, AnAtomicThatReturnsSaysSoInItsHint) {
  EXPECT_TRUE(Parse("global_atomic_add_u32 v1, v0, v2, s[0:1] th:TH_ATOMIC_RETURN scope:SCOPE_DEV")
                  .modifiers.glc);
  EXPECT_FALSE(Parse("global_atomic_add_u32 v0, v2, s[0:1] th:TH_ATOMIC_NT").modifiers.glc);
  EXPECT_FALSE(Parse("global_load_b32 v0, v2, s[0:1] th:TH_LOAD_NT").modifiers.glc);
}

TEST(ParseAssembly, AnUnknownModifierIsRefused) {
  std::string why;
  EXPECT_FALSE(ParseAssembly("v_add_f32_e64 v0, v1, v2 sideways:3", &why));
  EXPECT_NE(why.find("sideways"), std::string::npos);
}

}  // namespace
}  // namespace rochound::softgpu
