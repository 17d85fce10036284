// SPDX-License-Identifier: MIT
#include "softgpu/counters/instruction_class.h"

#include <gtest/gtest.h>

#include "softgpu/counters/target_rules.h"
#include "softgpu/isa/tables.h"

namespace rochound::softgpu {
namespace {

using enum InstructionClass;

constexpr const char* kTargets[] = {"gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"};

// Whoever adds an instruction learns here that its bytes are not known.
TEST(InstructionClassTest, EveryImplementedInstructionIsMeasured) {
  for (const char* target : kTargets) {
    for (const std::string& mnemonic : ImplementedMnemonics(target)) {
      const OpFacts facts = DescribeMnemonic(mnemonic);
      EXPECT_FALSE(facts.is_unmeasured) << mnemonic << " on " << target;
      if (mnemonic.starts_with("v_")) {
        EXPECT_TRUE(facts.instruction_class == kValu || facts.instruction_class == kMatrix ||
                    facts.instruction_class == kValuTranscendental)
            << mnemonic;
      }
      // Rows of xf32 do not say that LLVM decodes them on gfx942 only.
      const bool decodable = mnemonic.find("xf32") == std::string::npos || target == kTargets[1];
      if (facts.instruction_class == kMatrix && decodable) {
        EXPECT_GT(facts.multiplications, 0u) << mnemonic;
        const TargetRules& rules = RulesFor(*FindArchitecture(target));
        EXPECT_GT(rules.multiplications_per_cycle[static_cast<unsigned>(facts.matrix_kind)], 0u)
            << mnemonic << " on " << target;
      }
    }
  }
}

TEST(InstructionClassTest, EveryTargetHasItsRules) {
  for (const char* target : kTargets) {
    const Architecture* architecture = FindArchitecture(target);
    ASSERT_NE(architecture, nullptr) << target;
    EXPECT_EQ(RulesFor(*architecture).bit, architecture->bit) << target;
  }
}

struct Sample {
  const char* mnemonic;
  InstructionClass instruction_class;
  MemoryAction action = MemoryAction::kNone;
  unsigned bytes = 0;
  AddressForm form = AddressForm::kNone;
};

TEST(InstructionClassTest, NamesOfAllGenerationsAreUnderstood) {
  using enum MemoryAction;
  const Sample samples[] = {
      {"s_add_u32", kSalu},
      {"s_and_saveexec_b64", kSalu},
      {"s_load_dwordx4", kSmem, kLoad, 16, AddressForm::kScalar},
      {"s_load_b512", kSmem, kLoad, 64, AddressForm::kScalar},
      {"s_load_u8", kSmem, kLoad, 1, AddressForm::kScalar},
      {"s_buffer_load_b96", kSmem, kLoad, 12, AddressForm::kScalarBuffer},
      {"s_atomic_add_x2", kSmem, kAtomic, 8, AddressForm::kScalar},
      {"s_memtime", kSmem},
      {"v_add_f32", kValu},
      {"v_dual_fmac_f32", kValu},
      {"v_cmpx_lt_f32", kValu},
      {"v_exp_f32", kValuTranscendental},
      {"v_rcp_iflag_f32", kValuTranscendental},
      {"v_cos_f16", kValuTranscendental},
      {"v_s_rsq_f32", kValuTranscendental},
      {"v_mfma_f32_32x32x8f16", kMatrix},
      {"v_wmma_i32_16x16x16_iu8", kMatrix},
      {"ds_read_b128", kLdsLoad, kLoad, 16, AddressForm::kLds},
      {"ds_load_b128", kLdsLoad, kLoad, 16, AddressForm::kLds},
      {"ds_load_u16_d16_hi", kLdsLoad, kLoad, 2, AddressForm::kLds},
      {"ds_read2st64_b64", kLdsLoad, kLoad, 8, AddressForm::kLdsPair},
      {"ds_load_2addr_stride64_b64", kLdsLoad, kLoad, 8, AddressForm::kLdsPair},
      {"ds_store_2addr_b32", kLdsStore, kStore, 4, AddressForm::kLdsPair},
      {"ds_write_b8_d16_hi", kLdsStore, kStore, 1, AddressForm::kLds},
      {"ds_add_rtn_u64", kLdsAtomic, kAtomic, 8, AddressForm::kLds},
      {"ds_storexchg_rtn_b32", kLdsAtomic, kAtomic, 4, AddressForm::kLds},
      {"ds_cmpstore_b64", kLdsAtomic, kAtomic, 8, AddressForm::kLds},
      {"ds_append", kLdsAtomic, kAtomic, 4, AddressForm::kLdsCounter},
      {"ds_bpermute_b32", kLdsExchange},
      {"ds_gws_barrier", kOther},
      {"global_load_dwordx3", kGlobalLoad, kLoad, 12, AddressForm::kGlobal},
      {"global_load_b96", kGlobalLoad, kLoad, 12, AddressForm::kGlobal},
      {"global_load_d16_hi_u8", kGlobalLoad, kLoad, 1, AddressForm::kGlobal},
      {"global_store_short_d16_hi", kGlobalStore, kStore, 2, AddressForm::kGlobal},
      {"global_atomic_cmpswap_x2", kGlobalAtomic, kAtomic, 8, AddressForm::kGlobal},
      {"global_atomic_cmpswap_b64", kGlobalAtomic, kAtomic, 8, AddressForm::kGlobal},
      {"global_atomic_pk_add_f16", kGlobalAtomic, kAtomic, 4, AddressForm::kGlobal},
      {"flat_load_ubyte", kFlatLoad, kLoad, 1, AddressForm::kFlat},
      {"scratch_store_b64", kScratchStore, kStore, 8, AddressForm::kScratch},
      {"buffer_load_b32", kBufferLoad, kLoad, 4, AddressForm::kBuffer},
      {"buffer_store_format_xyzw", kBufferStore, kStore, 0, AddressForm::kTypedBuffer},
      {"tbuffer_load_d16_format_x", kBufferLoad, kLoad, 0, AddressForm::kTypedEncoding},
      {"buffer_wbl2", kOther},
      {"s_cbranch_execz", kBranch},
      {"s_swappc_b64", kBranch},
      {"s_barrier", kBarrier},
      {"s_barrier_signal", kBarrier},
      {"s_waitcnt", kWait},
      {"s_wait_loadcnt", kWait},
      {"s_delay_alu", kWait},
      {"s_endpgm", kOther},
      {"s_clause", kOther},
  };
  for (const Sample& sample : samples) {
    const OpFacts facts = DescribeMnemonic(sample.mnemonic);
    EXPECT_EQ(NameOf(facts.instruction_class), NameOf(sample.instruction_class)) << sample.mnemonic;
    EXPECT_EQ(facts.action, sample.action) << sample.mnemonic;
    EXPECT_EQ(facts.bytes, sample.bytes) << sample.mnemonic;
    EXPECT_EQ(facts.form, sample.form) << sample.mnemonic;
  }
  EXPECT_TRUE(DescribeMnemonic("ds_frobnicate_load").action == MemoryAction::kAtomic);
  EXPECT_TRUE(DescribeMnemonic("global_load_everything").is_unmeasured);
}

TEST(InstructionClassTest, MatrixShapes) {
  const std::pair<const char*, unsigned> samples[] = {
      {"v_mfma_f32_32x32x8_f16", 32 * 32 * 8},     {"v_mfma_f32_32x32x8f16", 32 * 32 * 8},
      {"v_mfma_f32_4x4x1_16b_f32", 16 * 16},       {"v_mfma_f32_4x4x1f32", 16 * 16},
      {"v_mfma_f32_32x32x4_2b_bf16", 32 * 32 * 8}, {"v_mfma_f64_16x16x4_f64", 16 * 16 * 4},
      {"v_smfmac_f32_16x16x32_f16", 16 * 16 * 16}, {"v_wmma_f32_16x16x16_f16", 16 * 16 * 16},
  };
  for (const auto& [mnemonic, multiplications] : samples)
    EXPECT_EQ(DescribeMnemonic(mnemonic).multiplications, multiplications) << mnemonic;
  EXPECT_EQ(DescribeMnemonic("v_mfma_f32_16x16x8_xf32").matrix_kind, MatrixKind::kXF32);
  EXPECT_EQ(DescribeMnemonic("v_mfma_i32_16x16x32_i8").matrix_kind, MatrixKind::kInt8);
  EXPECT_EQ(DescribeMnemonic("v_mfma_f32_16x16x32_fp8_bf8").matrix_kind, MatrixKind::kInt8);
  EXPECT_EQ(DescribeMnemonic("v_mfma_f32_32x32x8_bf16").matrix_kind, MatrixKind::kF16);
  EXPECT_EQ(DescribeMnemonic("v_mfma_f32_4x4x1f32").matrix_kind, MatrixKind::kF32);
  EXPECT_EQ(DescribeMnemonic("v_wmma_i32_16x16x16_iu4").matrix_kind, MatrixKind::kInt4);
}

}  // namespace
}  // namespace rochound::softgpu
