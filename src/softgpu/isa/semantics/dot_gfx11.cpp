// SPDX-License-Identifier: MIT
//
// Dot products that came with gfx11 and gfx12: integers whose signedness is a modifier of each
// source, halves and bf16 with a 16-bit result, and 8-bit floats. Sums are rounded after each
// addition, in order.
#include <bit>
#include <cmath>

#include "softgpu/isa/semantics/float_lanes.h"
#include "softgpu/isa/semantics/ocp_float.h"
#include "softgpu/isa/tables.h"

namespace rochound::softgpu {
namespace {

using enum Ty;

constexpr uint32_t kSinceGfx11 = kGfx11Targets | kGfx12Targets;

// ---- Integers ----

template <unsigned kBits>
int32_t ElementOf(uint32_t word, unsigned index, bool is_signed) {
  uint32_t shifted = word << (32 - kBits * (index + 1));
  return is_signed ? static_cast<int32_t>(shifted) >> (32 - kBits)
                   : static_cast<int32_t>(shifted >> (32 - kBits));
}

// neg_lo says which sources are signed; the sum always is.
template <unsigned kBits>
const Op* ExecIntegerDot(Wave& wave, const Op* op) {
  uint64_t lanes = wave.exec();
  if (lanes == 0) return op + 1;
  RowBuffer buffers[3];
  const uint32_t* source[3];
  for (unsigned n = 0; n < 3; ++n)
    source[n] =
        static_cast<const uint32_t*>(FetchSource(wave, op, n + 1, n, kB32, &buffers[n], &lanes));
  const Modifiers& m = op->modifiers();
  bool a_signed = m.neg_lo & 1;
  bool b_signed = m.neg_lo & 2;
  RowBuffer result;
  for (unsigned i = 0; i < wave.lanes; ++i) {
    int64_t sum = static_cast<int32_t>(source[2][i]);
    for (unsigned e = 0; e < 32 / kBits; ++e) {
      sum += int64_t{ElementOf<kBits>(source[0][i], e, a_signed)} *
             ElementOf<kBits>(source[1][i], e, b_signed);
    }
    if (m.clamp) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    result.u32()[i] = static_cast<uint32_t>(sum);
  }
  Blend(wave.Row(op->operand[0].index), result.u32(), lanes, wave.lanes);
  return op + 1;
}

bool RefuseSigns(const AsmInstruction& instruction, const Architecture& architecture, Op* op,
                 std::string* why) {
  const Modifiers& m = instruction.modifiers;
  if (m.neg_hi != 0 || m.neg_lo & 4 || m.op_sel != 0) {
    *why = "neg_hi or op_sel";
    return false;
  }
  return RefuseSignsOnPairs(instruction, architecture, op, why);
}

// ---- Floats ----

// Rounded to odd, so that rounding the result once more is rounding once.
float ToOdd(double exact) {
  float value = static_cast<float>(exact);
  double back = static_cast<double>(value);
  if (back == exact || !std::isfinite(value)) return value;
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::fabs(back) > std::fabs(exact)) --bits;
  return std::bit_cast<float>(bits | 1);
}
float RoundToHalf(float x) { return HalfToFloat(FloatToHalf(x)); }
float RoundToBrain(float x) { return BrainToFloat(FloatToBrain(x)); }

// S2 and the result are halves of registers, picked by op_sel as usual.
template <Ty T>
const Op* ExecHalfDot(Wave& wave, const Op* op) {
  uint64_t lanes = wave.exec();
  if (lanes == 0) return op + 1;
  RowBuffer buffers[3];
  const uint32_t* source[3];
  for (unsigned n = 0; n < 3; ++n)
    source[n] = static_cast<const uint32_t*>(
        FetchSource(wave, op, n + 1, n, n == 2 ? T : kB32, &buffers[n], &lanes));
  auto decode = [](uint32_t bits) {
    return T == kF16 ? HalfToFloat(bits & 0xFFFF) : BrainToFloat(bits & 0xFFFF);
  };
  auto round = [](float x) { return T == kF16 ? RoundToHalf(x) : RoundToBrain(x); };
  RowBuffer result;
  for (unsigned i = 0; i < wave.lanes; ++i) {
    float sum = decode(source[2][i]);
    for (unsigned half = 0; half < 32; half += 16) {
      double exact = static_cast<double>(decode(source[0][i] >> half)) *
                         static_cast<double>(decode(source[1][i] >> half)) +
                     static_cast<double>(sum);
      sum = round(ToOdd(exact));
    }
    result.u32()[i] = T == kF16 ? FloatToHalf(sum) : FloatToBrain(sum);
  }
  StoreResult(wave, op, 0, T, &result, lanes);
  return op + 1;
}

bool RefuseModifiers(const AsmInstruction& instruction, const Architecture&, Op* op,
                     std::string* why) {
  const Modifiers& m = instruction.modifiers;
  bool changes_sign = m.neg_lo != 0 || m.neg_hi != 0;
  for (unsigned i = 0; i < op->operand_count; ++i)
    changes_sign |= instruction.operands[i].negate || instruction.operands[i].absolute;
  // op_sel of the packed sources has no meaning here.
  if (!changes_sign && !m.clamp && !(m.op_sel & 3)) return true;
  *why = "modifiers";
  return false;
}

template <typename A, typename B>
float MiniDot(uint32_t a, uint32_t b, float c) {
  for (unsigned i = 0; i < 32; i += 8)
    c = __builtin_fmaf(A::kTable[a >> i & 0xFF], B::kTable[b >> i & 0xFF], c);
  return c;
}
template <typename A, typename B>
constexpr Row MiniDotRow(std::string_view mnemonic) {
  return {mnemonic,
          &ExecVector,
          {kF32, kB32, kB32, kF32},
          LanesOf<MiniDot<A, B>, kF32, kB32, kB32, kF32>(),
          0,
          kGfx12Targets,
          &RefuseModifiers};
}

float BrainDot(uint32_t a, uint32_t b, float c) {
  c = __builtin_fmaf(BrainToFloat(a & 0xFFFF), BrainToFloat(b & 0xFFFF), c);
  return __builtin_fmaf(BrainToFloat(a >> 16), BrainToFloat(b >> 16), c);
}

constexpr Row kRows[] = {
    {"v_dot4_i32_iu8",
     &ExecIntegerDot<8>,
     {kI32, kB32, kB32, kI32},
     nullptr,
     0,
     kSinceGfx11,
     &RefuseSigns},
    {"v_dot8_i32_iu4",
     &ExecIntegerDot<4>,
     {kI32, kB32, kB32, kI32},
     nullptr,
     0,
     kSinceGfx11,
     &RefuseSigns},
    {"v_dot2_f16_f16",
     &ExecHalfDot<kF16>,
     {kF16, kB32, kB32, kF16},
     nullptr,
     0,
     kSinceGfx11,
     &RefuseModifiers},
    {"v_dot2_bf16_bf16",
     &ExecHalfDot<kBF16>,
     {kBF16, kB32, kB32, kBF16},
     nullptr,
     0,
     kSinceGfx11,
     &RefuseModifiers},
    {"v_dot2acc_f32_bf16",
     &ExecVector,
     {kF32, kB32, kB32},
     LanesOf<BrainDot, kF32, kB32, kB32, kF32>(),
     kAccumulates,
     kSinceGfx11,
     &RefuseModifiers},
    MiniDotRow<OcpFp8, OcpFp8>("v_dot4_f32_fp8_fp8"),
    MiniDotRow<OcpFp8, OcpBf8>("v_dot4_f32_fp8_bf8"),
    MiniDotRow<OcpBf8, OcpFp8>("v_dot4_f32_bf8_fp8"),
    MiniDotRow<OcpBf8, OcpBf8>("v_dot4_f32_bf8_bf8"),
};

}  // namespace

std::span<const Row> DotGfx11Rows() { return kRows; }

}  // namespace rochound::softgpu
