// SPDX-License-Identifier: MIT
//
// Dot products of packed integers and halves, added to a 32-bit value.
#include "softgpu/isa/semantics/float_lanes.h"
#include "softgpu/isa/semantics/packed.h"

namespace rochound::softgpu {
namespace {

// Element `index` of `bits`, kWidth bits wide.
template <unsigned kWidth, bool kSigned>
int64_t ElementOf(uint32_t bits, unsigned index) {
  if constexpr (kSigned) {
    return static_cast<int32_t>(bits << (32 - kWidth - kWidth * index)) >> (32 - kWidth);
  } else {
    return bits >> (kWidth * index) & ((1u << kWidth) - 1);
  }
}

// The sum is exact in 64 bits; without clamp its low 32 bits are kept.
template <unsigned kWidth, bool kSigned, bool kSaturate>
void IntegerDotLanes(void* dst, const void* const* src, unsigned lanes) {
  auto* d = static_cast<uint32_t*>(dst);
  auto* a = static_cast<const uint32_t*>(src[0]);
  auto* b = static_cast<const uint32_t*>(src[1]);
  auto* c = static_cast<const uint32_t*>(src[2]);
  for (unsigned i = 0; i < lanes; ++i) {
    int64_t sum = kSigned ? int64_t{static_cast<int32_t>(c[i])} : int64_t{c[i]};
    for (unsigned k = 0; k < 32 / kWidth; ++k)
      sum += ElementOf<kWidth, kSigned>(a[i], k) * ElementOf<kWidth, kSigned>(b[i], k);
    if constexpr (kSaturate) {
      constexpr int64_t kLow = kSigned ? -int64_t{0x80000000} : 0;
      constexpr int64_t kHigh = kSigned ? 0x7FFFFFFF : 0xFFFFFFFF;
      sum = sum < kLow ? kLow : sum > kHigh ? kHigh : sum;
    }
    d[i] = static_cast<uint32_t>(sum);
  }
}

template <unsigned kWidth, bool kSigned>
bool PrepareInteger(const AsmInstruction& instruction, const Architecture& architecture, Op* op,
                    std::string* why) {
  const Modifiers& m = instruction.modifiers;
  if (m.neg_lo != 0 || m.neg_hi != 0) {
    *why = "neg of an integer";
    return false;
  }
  if (m.clamp) op->lanes = &IntegerDotLanes<kWidth, kSigned, true>;
  return RefuseSignsOnPairs(instruction, architecture, op, why);
}

// op_sel picks 16-bit elements only.
template <unsigned kWidth, bool kSigned>
constexpr Row IntegerDot(std::string_view mnemonic) {
  constexpr Ty kSource = kWidth == 16 ? Ty::kV2I16 : Ty::kB32;
  constexpr Ty kSum = kSigned ? Ty::kI32 : Ty::kU32;
  return {mnemonic,
          &ExecVector,
          {kSum, kSource, kSource, kSum},
          &IntegerDotLanes<kWidth, kSigned, false>,
          0,
          kAllTargets,
          &PrepareInteger<kWidth, kSigned>};
}
template <unsigned kWidth>
constexpr Row AccumulatingDot(std::string_view mnemonic, uint32_t targets = kAllTargets) {
  constexpr Ty kSource = kWidth == 16 ? Ty::kV2I16 : Ty::kB32;
  return {mnemonic,
          &ExecVector,
          {Ty::kI32, kSource, kSource},
          &IntegerDotLanes<kWidth, true, false>,
          kAccumulates,
          targets,
          &PrepareInteger<kWidth, true>};
}

// c + a0 * b0 + a1 * b1, rounded after each addition in this order (the products are exact).
// Denormal floats are flushed whatever MODE says; denormal halves count, but not on gfx90a.
float FlushDenormal(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>(bits & 0x7F800000u ? bits : bits & 0x80000000u);
}
template <bool kFlushHalves>
void HalfDotLanes(void* dst, const void* const* src, unsigned lanes) {
  alignas(32) float a[2][kRowLanes];
  alignas(32) float b[2][kRowLanes];
  for (int half = 0; half < 2; ++half) {
    ReadHalves(src[0], 16 * half, kFlushHalves, a[half], lanes);
    ReadHalves(src[1], 16 * half, kFlushHalves, b[half], lanes);
  }
  auto* d = static_cast<float*>(dst);
  auto* c = static_cast<const float*>(src[2]);
  for (unsigned i = 0; i < lanes; ++i) {
    float sum = FlushDenormal(FlushDenormal(c[i]) + a[0][i] * b[0][i]);
    d[i] = FlushDenormal(sum + a[1][i] * b[1][i]);
  }
}

// The same of bf16.
void BrainDotLanes(void* dst, const void* const* src, unsigned lanes) {
  auto* d = static_cast<float*>(dst);
  auto* a = static_cast<const uint32_t*>(src[0]);
  auto* b = static_cast<const uint32_t*>(src[1]);
  auto* c = static_cast<const float*>(src[2]);
  for (unsigned i = 0; i < lanes; ++i) {
    float low = BrainToFloat(a[i] & 0xFFFF) * BrainToFloat(b[i] & 0xFFFF);
    float high = BrainToFloat(a[i] >> 16) * BrainToFloat(b[i] >> 16);
    float sum = FlushDenormal(FlushDenormal(c[i]) + FlushDenormal(low));
    d[i] = FlushDenormal(sum + FlushDenormal(high));
  }
}

// neg of the f32 addend is written as both neg_lo and neg_hi; one alone has no meaning.
bool PrepareHalfDot(const AsmInstruction& instruction, const Architecture& architecture, Op* op,
                    std::string* why) {
  const Modifiers& m = instruction.modifiers;
  bool negates = m.neg_lo >> 2 & 1;
  if (negates != (m.neg_hi >> 2 & 1) || (negates && op->row->flags & kAccumulates)) {
    *why = "neg of half an addend";
    return false;
  }
  if (negates) {
    op->operand[3].negate = !op->operand[3].negate;
    if (op->operand[3].kind == Operand::Kind::kConstant) {
      *why = "neg of a constant addend";
      return false;
    }
  }
  return RefuseSignsOnPairs(instruction, architecture, op, why);
}

constexpr Row FloatDot(std::string_view mnemonic, LaneLoop lanes, uint32_t targets) {
  return {mnemonic, &ExecVector,    {Ty::kF32, Ty::kV2F16, Ty::kV2F16, Ty::kF32}, lanes, 0,
          targets,  &PrepareHalfDot};
}
constexpr Row FloatAccumulatingDot(std::string_view mnemonic, LaneLoop lanes, uint32_t targets) {
  return {mnemonic, &ExecVector,    {Ty::kF32, Ty::kV2F16, Ty::kV2F16}, lanes, kAccumulates,
          targets,  &PrepareHalfDot};
}

constexpr Row kRows[] = {
    IntegerDot<16, true>("v_dot2_i32_i16"),
    IntegerDot<16, false>("v_dot2_u32_u16"),
    IntegerDot<8, true>("v_dot4_i32_i8"),
    IntegerDot<8, false>("v_dot4_u32_u8"),
    IntegerDot<4, true>("v_dot8_i32_i4"),
    IntegerDot<4, false>("v_dot8_u32_u4"),
    AccumulatingDot<16>("v_dot2c_i32_i16", kGfx9Targets),
    AccumulatingDot<8>("v_dot4c_i32_i8"),
    AccumulatingDot<4>("v_dot8c_i32_i4", kGfx9Targets),
    FloatDot("v_dot2_f32_f16", &HalfDotLanes<false>, kAllTargets & ~kGfx90a),
    FloatDot("v_dot2_f32_f16", &HalfDotLanes<true>, kGfx90a),
    FloatDot("v_dot2_f32_bf16", &BrainDotLanes, kGfx950 | kGfx11Targets | kGfx12Targets),
    FloatAccumulatingDot("v_dot2c_f32_f16", &HalfDotLanes<false>, kAllTargets & ~kGfx90a),
    FloatAccumulatingDot("v_dot2c_f32_f16", &HalfDotLanes<true>, kGfx90a),
    FloatAccumulatingDot("v_dot2c_f32_bf16", &BrainDotLanes, kGfx950),
};

}  // namespace

std::span<const Row> DotRows() { return kRows; }

}  // namespace rochound::softgpu
