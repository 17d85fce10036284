// SPDX-License-Identifier: MIT
//
// Arbitrary words as code: a result or a named refusal, never a crash. `./dev fuzz` goes on from
// here with a coverage-guided search.
#include <gtest/gtest.h>
#include <llvm/Config/llvm-config.h>

#include <random>
#include <vector>

#include "softgpu/isa/disassembler.h"
#include "softgpu/isa/lower.h"

namespace rochound::softgpu {
namespace {

struct Variant {
  const char* target;
  unsigned wave_size;
};

class DecoderTest : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    if (!Disassembler::Knows(GetParam().target))
      GTEST_SKIP() << "the LLVM that this build uses is too old for " << GetParam().target;
  }
};

TEST(DisassemblerTest, RefusesATargetThatLlvmDoesNotKnow) {
  EXPECT_FALSE(Disassembler::Knows("gfx9999"));
  EXPECT_EQ(Disassembler::Create("gfx9999", 64), nullptr);
  EXPECT_EQ(Disassembler::Knows("gfx942"), LLVM_VERSION_MAJOR >= 17);
  EXPECT_EQ(Disassembler::Create("gfx942", 64) != nullptr, LLVM_VERSION_MAJOR >= 17);
  // Tests of these targets are skipped where they are not known.
  if (LLVM_VERSION_MAJOR >= 20)
    for (const char* const target : {"gfx90a", "gfx950", "gfx1030", "gfx1100", "gfx1201"})
      EXPECT_TRUE(Disassembler::Knows(target)) << target;
}

TEST_P(DecoderTest, SurvivesArbitraryWords) {
  auto disassembler = Disassembler::Create(GetParam().target, GetParam().wave_size);
  ASSERT_NE(disassembler, nullptr);
  const Architecture* architecture = FindArchitecture(GetParam().target);
  std::mt19937 random(20261114);
  int decoded = 0;
  int lowered = 0;
  for (int i = 0; i < 20000; ++i) {
    uint8_t bytes[20];
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    std::string why;
    auto instruction = disassembler->Decode(bytes, 0x1000, &why);
    if (!instruction) {
      EXPECT_FALSE(why.empty());
      continue;
    }
    ++decoded;
    ConstantRows constants;
    Op op;
    if (LowerInstruction(*instruction, *architecture, &constants, &op, &why)) {
      ++lowered;
    } else {
      EXPECT_NE(why.find("not implemented"), std::string::npos) << instruction->text;
    }
  }
  // Arbitrary words are often instructions; if none are, nothing was tested.
  EXPECT_GT(decoded, 1000);
  EXPECT_GT(lowered, 1000);
}

TEST_P(DecoderTest, RefusesAnInstructionThatIsCutOff) {
  auto disassembler = Disassembler::Create(GetParam().target, GetParam().wave_size);
  ASSERT_NE(disassembler, nullptr);
  const uint8_t mov_with_literal[] = {0xFF, 0x02, 0x00, 0x7E};  // v_mov_b32 v0, literal
  std::string why;
  EXPECT_FALSE(disassembler->Decode(mov_with_literal, 0, &why));
  EXPECT_FALSE(why.empty());
}

// Compilers of ROCm 5 write 0 where newer ones name the execution mask, which is written either
// way.
TEST_P(DecoderTest, ReadsCompareWithAnyDestination) {
  const Architecture* architecture = FindArchitecture(GetParam().target);
  if (architecture->bit & kGfx9Targets) GTEST_SKIP() << "the destination is one there";
  auto disassembler = Disassembler::Create(GetParam().target, GetParam().wave_size);
  ASSERT_NE(disassembler, nullptr);
  const uint8_t opcode = architecture->bit & kGfx10Targets ? 0x94 : 0xC4;
  std::vector<std::string> texts;
  for (const uint8_t destination : {0x7E, 0x00}) {
    const uint8_t compare[] = {destination, 0x00, opcode, 0xD4, 0x01, 0x01, 0x02, 0x00};
    std::string why;
    const auto instruction = disassembler->Decode(compare, 0, &why);
    ASSERT_TRUE(instruction) << why;
    ConstantRows constants;
    Op op;
    EXPECT_TRUE(LowerInstruction(*instruction, *architecture, &constants, &op, &why)) << why;
    texts.push_back(instruction->text);
  }
  EXPECT_NE(texts[0].find("v_cmpx_gt_i32"), std::string::npos) << texts[0];
  EXPECT_EQ(texts[0], texts[1]);
}

INSTANTIATE_TEST_SUITE_P(
    Targets, DecoderTest,
    testing::Values(Variant{"gfx90a", 64}, Variant{"gfx942", 64}, Variant{"gfx950", 64},
                    Variant{"gfx1030", 32}, Variant{"gfx1030", 64}, Variant{"gfx1100", 32},
                    Variant{"gfx1100", 64}, Variant{"gfx1201", 32}, Variant{"gfx1201", 64}),
    [](const auto& info) {
      return std::string(info.param.target) + "_wave" + std::to_string(info.param.wave_size);
    });

}  // namespace
}  // namespace rochound::softgpu
