// SPDX-License-Identifier: MIT
#include "softgpu/counters/arithmetic.h"

#include <gtest/gtest.h>

#include <string>

#include "softgpu/counters/instruction_class.h"
#include "softgpu/isa/tables.h"

namespace rochound::softgpu {
namespace {

std::string Text(const std::string& mnemonic) {
  const Arithmetic arithmetic =
      DescribeArithmetic(mnemonic, DescribeMnemonic(mnemonic).multiplications);
  if (!arithmetic.is_known) return "unknown";
  std::string text(NameOf(arithmetic.unit));
  for (const Operation& operation : arithmetic.operations) {
    if (operation.count == 0) continue;
    text += " " + std::string(NameOf(operation.type)) + "." + std::string(NameOf(operation.kind)) +
            "=" + std::to_string(operation.count);
  }
  return text;
}

// Whoever adds an instruction learns here that its operations are not known.
TEST(ArithmeticTest, EveryImplementedVectorInstructionIsKnown) {
  for (const char* target : {"gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"}) {
    for (const std::string& mnemonic : ImplementedMnemonics(target)) {
      if (!mnemonic.starts_with("v_")) continue;
      EXPECT_NE(Text(mnemonic), "unknown") << mnemonic << " on " << target;
    }
  }
  EXPECT_EQ(Text("v_frobnicate_f32"), "unknown");
}

TEST(ArithmeticTest, OperationsByName) {
  const std::pair<const char*, const char*> samples[] = {
      {"v_add_f32", "vector f32.add=1"},
      {"v_subrev_f16", "vector f16.add=1"},
      {"v_mul_f64", "vector f64.multiply=1"},
      {"v_fma_f64", "vector f64.multiply_add=2"},
      {"v_fmac_f32", "vector f32.multiply_add=2"},
      {"v_dual_fmac_f32", "vector f32.multiply_add=2"},
      {"v_fmaak_f16", "vector f16.multiply_add=2"},
      {"v_fma_mixlo_f16", "vector f32.multiply_add=2"},
      {"v_mad_u64_u32", "vector i64.multiply_add=2"},
      {"v_mad_u32_u24", "vector i32.multiply_add=2"},
      {"v_pk_fma_f16", "vector f16.multiply_add=4"},
      {"v_pk_fma_f32", "vector f32.multiply_add=4"},
      {"v_pk_add_u16", "vector i16.add=2"},
      {"v_pk_mov_b32", "vector"},
      {"v_dot2_f32_f16", "vector f16.multiply_add=4"},
      {"v_dot2c_f32_bf16", "vector bf16.multiply_add=4"},
      {"v_dot4_i32_iu8", "vector i8.multiply_add=8"},
      {"v_dot8_u32_u4", "vector i4.multiply_add=16"},
      {"v_exp_f32", "vector f32.transcendental=1"},
      {"v_rcp_iflag_f32", "vector f32.transcendental=1"},
      {"v_sqrt_f64", "vector f64.transcendental=1"},
      {"v_s_rsq_f32", "scalar f32.transcendental=1"},
      {"v_cmp_lt_u32", "vector i32.compare=1"},
      {"v_cmpx_class_f16", "vector f16.compare=1"},
      {"v_med3_f32", "vector f32.compare=2"},
      {"v_max_num_f32", "vector f32.compare=1"},
      {"v_cvt_f32_i32", "vector f32.convert=1"},
      {"v_cvt_pkrtz_f16_f32", "vector f16.convert=2"},
      {"v_cvt_pk_u8_f32", "vector i8.convert=1"},
      {"v_cvt_scalef32_pk32_fp6_f16", "vector fp6.convert=32"},
      {"v_cvt_scalef32_2xpk16_bf6_f32", "vector fp6.convert=32"},
      {"v_add_lshl_u32", "vector i32.add=1 i32.bits=1"},
      {"v_lshl_add_u64", "vector i64.add=1 i64.bits=1"},
      {"v_add3_u32", "vector i32.add=2"},
      {"v_add_co_ci_u32", "vector i32.add=1"},
      {"v_mul_hi_u32", "vector i32.multiply=1"},
      {"v_lshlrev_b64", "vector i64.bits=1"},
      {"v_and_or_b32", "vector i32.bits=2"},
      {"v_perm_b32", "vector i32.bits=1"},
      {"v_permlane16_b32", "vector"},
      {"v_mov_b32", "vector"},
      {"v_cndmask_b32", "vector"},
      {"v_accvgpr_read_b32", "vector"},
      {"v_frexp_exp_i32_f64", "vector f64.other=1"},
      {"v_div_fmas_f64", "vector f64.multiply_add=2"},
      {"v_div_fixup_f32", "vector f32.other=1"},
      {"v_mfma_f32_32x32x8_f16", "matrix f16.multiply_add=16384"},
      {"v_mfma_f32_32x32x8bf16_1k", "matrix bf16.multiply_add=16384"},
      {"v_mfma_f32_4x4x1f32", "matrix f32.multiply_add=512"},
      {"v_mfma_f32_16x16x8_xf32", "matrix xf32.multiply_add=4096"},
      {"v_mfma_f64_16x16x4_f64", "matrix f64.multiply_add=2048"},
      {"v_mfma_i32_32x32x16_i8", "matrix i8.multiply_add=32768"},
      {"v_mfma_f32_16x16x32_bf8_fp8", "matrix fp8.multiply_add=16384"},
      {"v_mfma_scale_f32_16x16x128_f8f6f4", "matrix f8f6f4.multiply_add=65536"},
      {"v_smfmac_f32_16x16x32_f16", "matrix f16.multiply_add=8192"},
      {"v_wmma_f32_16x16x16_bf16", "matrix bf16.multiply_add=8192"},
      {"v_swmmac_i32_16x16x64_iu4", "matrix i4.multiply_add=16384"},
      {"s_add_u32", "scalar i32.add=1"},
      {"s_fmac_f32", "scalar f32.multiply_add=2"},
      {"s_lshl2_add_u32", "scalar i32.add=1 i32.bits=1"},
      {"s_and_saveexec_b64", "scalar i64.bits=1"},
      {"s_cmp_lt_f32", "scalar f32.compare=1"},
      {"s_mov_b64", "scalar"},
      {"s_cselect_b32", "unknown"},
  };
  for (const auto& [mnemonic, expected] : samples) EXPECT_EQ(Text(mnemonic), expected) << mnemonic;
}

}  // namespace
}  // namespace rochound::softgpu
