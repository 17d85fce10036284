// SPDX-License-Identifier: MIT
//
// Floating point and 64-bit arithmetic of gfx12's scalar unit, and the transcendental instructions
// that read and write scalar registers. Rounding and denormals follow MODE as on the vector unit.
#include <cmath>
#include <utility>

#include "softgpu/isa/semantics/float_lanes.h"
#include "softgpu/isa/semantics/float_pick.h"
#include "softgpu/isa/semantics/transcendental.h"
#include "softgpu/isa/tables.h"

namespace rochound::softgpu {
namespace {

using enum Ty;

// ---- Operands ----

// Halves are seen as floats, after the denormal mode that the host does not know for them.
template <Ty T>
auto Read(const Wave& wave, const Operand& operand, HostMode mode) {
  uint32_t bits = ReadScalar32(wave, operand);
  if constexpr (T == kF16) {
    if (mode.flush_inputs && (bits & 0x7C00) == 0) bits &= 0x8000;
    return HalfToFloat(bits);
  } else {
    return Lane<T>::Get(bits);
  }
}

template <Ty T, typename V>
uint32_t Bits(V value, HostMode mode) {
  if constexpr (T == kF16) {
    __m128i half = _mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_CUR_DIRECTION);
    uint32_t bits = static_cast<uint32_t>(_mm_cvtsi128_si32(half)) & 0xFFFF;
    return mode.flush_results && (bits & 0x7C00) == 0 ? bits & 0x8000 : bits;
  } else {
    return Lane<T>::Put(value);
  }
}

// ---- Executors ----

// M is the type whose mode holds.
template <auto F, Ty M, Ty D, Ty... A>
const Op* ExecFloat(Wave& wave, const Op* op) {
  FloatMode float_mode(wave, M);
  HostMode mode = HostMode::Now();
  auto run = [&]<size_t... I>(std::index_sequence<I...>) {
    return F(Read<A>(wave, op->operand[I + 1], mode)...);
  };
  WriteScalar32(wave, op->operand[0], Bits<D>(run(std::make_index_sequence<sizeof...(A)>{}), mode));
  return op + 1;
}

template <auto F, Ty T>
const Op* ExecCompare(Wave& wave, const Op* op) {
  FloatMode float_mode(wave, T);
  HostMode mode = HostMode::Now();
  wave.scc = F(Read<T>(wave, op->operand[0], mode), Read<T>(wave, op->operand[1], mode));
  return op + 1;
}

// dst = a * b + dst
template <auto F, Ty T>
const Op* ExecAccumulate(Wave& wave, const Op* op) {
  FloatMode float_mode(wave, T);
  HostMode mode = HostMode::Now();
  float sum = F(Read<T>(wave, op->operand[1], mode), Read<T>(wave, op->operand[2], mode),
                Read<T>(wave, op->operand[0], mode));
  WriteScalar32(wave, op->operand[0], Bits<T>(sum, mode));
  return op + 1;
}

// The one rounding of a half's fma: to odd in float, then to half. The sum's error is exact only
// when rounding to nearest; elsewhere rounding twice is rounding once.
float FmaHalf(float a, float b, float c) {
  return HostMode::Now().to_nearest ? FmaHalfToOdd(a, b, c) : FmaFloat(a, b, c);
}

template <Ty T, Pick kPick, PickRules kRules>
const Op* ExecScalarPick(Wave& wave, const Op* op) {
  using Format = std::conditional_t<T == kF16, PickHalf, PickSingle>;
  constexpr unsigned kShift = T == kF16 ? 16 : 0;
  FloatMode float_mode(wave, T);
  HostMode mode = HostMode::Now();
  uint32_t a = ReadScalar32(wave, op->operand[1]) << kShift;
  uint32_t b = ReadScalar32(wave, op->operand[2]) << kShift;
  if (mode.flush_inputs || mode.flush_results) {
    a = Picker<Format>::Flush(a);
    b = Picker<Format>::Flush(b);
  }
  uint32_t result = Picker<Format>::template Choose<kPick, kRules>(a, b, b);
  WriteScalar32(wave, op->operand[0], result >> kShift);
  return op + 1;
}

// ---- Functions ----

template <typename T>
int32_t ToSigned(T x) {
  constexpr T kLimit = static_cast<T>(2147483648.0);
  return x >= kLimit ? INT32_MAX : x < -kLimit ? INT32_MIN : x == x ? static_cast<int32_t>(x) : 0;
}
uint32_t ToUnsigned(float x) {
  return x >= 4294967296.0f ? ~0u : x > 0.0f ? static_cast<uint32_t>(x) : 0u;
}

uint32_t PackTowardsZero(float a, float b) {
  __m128i halves = _mm_cvtps_ph(_mm_setr_ps(a, b, 0, 0), _MM_FROUND_TO_ZERO);
  return static_cast<uint32_t>(_mm_cvtsi128_si32(halves));
}

// The transcendental unit works without denormals, whatever MODE says.
float FlushDenormal(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>(bits & 0x7F800000u ? bits : bits & 0x80000000u);
}

constexpr auto kAdd = [](float a, float b) { return a + b; };
constexpr auto kSubtract = [](float a, float b) { return a - b; };
constexpr auto kMultiply = [](float a, float b) { return a * b; };
constexpr auto kCeil = [](float a) { return std::ceil(a); };
constexpr auto kFloor = [](float a) { return std::floor(a); };
constexpr auto kTrunc = [](float a) { return std::trunc(a); };
constexpr auto kRoundEven = [](float a) { return __builtin_roundevenf(a); };

constexpr auto kLess = [](float a, float b) { return a < b; };
constexpr auto kEqual = [](float a, float b) { return a == b; };
constexpr auto kLessEqual = [](float a, float b) { return a <= b; };
constexpr auto kGreater = [](float a, float b) { return a > b; };
constexpr auto kDiffer = [](float a, float b) { return a < b || a > b; };
constexpr auto kGreaterEqual = [](float a, float b) { return a >= b; };
constexpr auto kOrdered = [](float a, float b) { return a == a && b == b; };
template <auto F>
constexpr auto kNot = [](float a, float b) { return !F(a, b); };

// ---- Rows ----

template <auto F, Ty M, Ty D, Ty... A>
constexpr Row Float(std::string_view mnemonic) {
  return {mnemonic, &ExecFloat<F, M, D, A...>, {D, A...}, nullptr, 0, kGfx12Targets};
}
template <auto F, Ty T>
constexpr Row Compare(std::string_view mnemonic) {
  return {mnemonic, &ExecCompare<F, T>, {T, T}, nullptr, 0, kGfx12Targets};
}
template <auto F, Ty T>
constexpr Row Accumulating(std::string_view mnemonic) {
  return {mnemonic, &ExecAccumulate<F, T>, {T, T, T}, nullptr, 0, kGfx12Targets};
}
template <Ty T, Pick kPick, PickRules kRules>
constexpr Row Picking(std::string_view mnemonic) {
  return {mnemonic, &ExecScalarPick<T, kPick, kRules>, {T, T, T}, nullptr, 0, kGfx12Targets};
}

// v_s_*: VOP3, so that a sign may be changed and the result clamped.
bool RefuseModifiers(const AsmInstruction& instruction, const Architecture&, Op* op,
                     std::string* why) {
  const Modifiers& m = instruction.modifiers;
  if (m.clamp || m.omod != 0 || m.op_sel != 0) {
    *why = "clamp, omod or op_sel";
    return false;
  }
  op->imm = (instruction.operands[1].absolute ? 1 : 0) | (instruction.operands[1].negate ? 2 : 0);
  return true;
}

template <auto F, Ty T>
const Op* ExecTranscendental(Wave& wave, const Op* op) {
  FloatMode float_mode(wave, T);
  HostMode mode = HostMode::Now();
  float value = Read<T>(wave, op->operand[1], mode);
  // Constants have their signs already.
  if (op->operand[1].kind != Operand::Kind::kConstant) {
    if (op->imm & 1) value = std::fabs(value);
    if (op->imm & 2) value = -value;
  }
  WriteScalar32(wave, op->operand[0], Bits<T>(F(value), mode));
  return op + 1;
}

template <auto F, Ty T>
constexpr Row Transcendental(std::string_view mnemonic) {
  return {mnemonic, &ExecTranscendental<F, T>, {T, T}, nullptr, 0, kGfx12Targets, &RefuseModifiers};
}

constexpr auto kReciprocal = [](float x) { return FlushDenormal(1.0f / FlushDenormal(x)); };
constexpr auto kReciprocalHalf = [](float x) { return 1.0f / x; };
constexpr auto kRootSingle = [](float x) { return std::sqrt(FlushDenormal(x)); };
constexpr auto kRootHalf = [](float x) { return std::sqrt(x); };
constexpr auto kReciprocalRoot = [](float x) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(FlushDenormal(x))));
};
constexpr auto kReciprocalRootHalf = [](float x) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
};
constexpr auto kExpSingle = [](float x) { return FlushDenormal(Exp2(x)); };

constexpr Row kRows[] = {
    Float<kAdd, kF32, kF32, kF32, kF32>("s_add_f32"),
    Float<kSubtract, kF32, kF32, kF32, kF32>("s_sub_f32"),
    Float<kMultiply, kF32, kF32, kF32, kF32>("s_mul_f32"),
    Float<FmaFloat, kF32, kF32, kF32, kF32, kF32>("s_fmaak_f32"),
    Float<FmaFloat, kF32, kF32, kF32, kF32, kF32>("s_fmamk_f32"),
    Accumulating<FmaFloat, kF32>("s_fmac_f32"),
    Float<kCeil, kF32, kF32, kF32>("s_ceil_f32"),
    Float<kFloor, kF32, kF32, kF32>("s_floor_f32"),
    Float<kTrunc, kF32, kF32, kF32>("s_trunc_f32"),
    Float<kRoundEven, kF32, kF32, kF32>("s_rndne_f32"),
    Float<kAdd, kF16, kF16, kF16, kF16>("s_add_f16"),
    Float<kSubtract, kF16, kF16, kF16, kF16>("s_sub_f16"),
    Float<kMultiply, kF16, kF16, kF16, kF16>("s_mul_f16"),
    Accumulating<FmaHalf, kF16>("s_fmac_f16"),
    Float<kCeil, kF16, kF16, kF16>("s_ceil_f16"),
    Float<kFloor, kF16, kF16, kF16>("s_floor_f16"),
    Float<kTrunc, kF16, kF16, kF16>("s_trunc_f16"),
    Float<kRoundEven, kF16, kF16, kF16>("s_rndne_f16"),

    Float<[](int32_t a) { return static_cast<float>(a); }, kF32, kF32, kI32>("s_cvt_f32_i32"),
    Float<[](uint32_t a) { return static_cast<float>(a); }, kF32, kF32, kU32>("s_cvt_f32_u32"),
    Float<ToSigned<float>, kF32, kI32, kF32>("s_cvt_i32_f32"),
    Float<ToUnsigned, kF32, kU32, kF32>("s_cvt_u32_f32"),
    Float<[](float a) { return a; }, kF16, kF16, kF32>("s_cvt_f16_f32"),
    Float<[](float a) { return a; }, kF16, kF32, kF16>("s_cvt_f32_f16"),
    {"s_cvt_hi_f32_f16",
     &ExecFloat<[](uint32_t a) {
       if (HostMode::Now().flush_inputs && (a & 0x7C000000) == 0) a &= 0x80000000;
       return HalfToFloat(a >> 16);
     },
                kF16, kF32, kB32>,
     {kF32, kB32},
     nullptr,
     0,
     kGfx12Targets},
    Float<PackTowardsZero, kF16, kB32, kF32, kF32>("s_cvt_pk_rtz_f16_f32"),

    Picking<kF32, Pick::kMin, kNumbersWin>("s_min_num_f32"),
    Picking<kF32, Pick::kMax, kNumbersWin>("s_max_num_f32"),
    Picking<kF32, Pick::kMin, kNansWin>("s_minimum_f32"),
    Picking<kF32, Pick::kMax, kNansWin>("s_maximum_f32"),
    Picking<kF16, Pick::kMin, kNumbersWin>("s_min_num_f16"),
    Picking<kF16, Pick::kMax, kNumbersWin>("s_max_num_f16"),
    Picking<kF16, Pick::kMin, kNansWin>("s_minimum_f16"),
    Picking<kF16, Pick::kMax, kNansWin>("s_maximum_f16"),

    Compare<kLess, kF32>("s_cmp_lt_f32"),
    Compare<kEqual, kF32>("s_cmp_eq_f32"),
    Compare<kLessEqual, kF32>("s_cmp_le_f32"),
    Compare<kGreater, kF32>("s_cmp_gt_f32"),
    Compare<kDiffer, kF32>("s_cmp_lg_f32"),
    Compare<kGreaterEqual, kF32>("s_cmp_ge_f32"),
    Compare<kOrdered, kF32>("s_cmp_o_f32"),
    Compare<kNot<kOrdered>, kF32>("s_cmp_u_f32"),
    Compare<kNot<kGreaterEqual>, kF32>("s_cmp_nge_f32"),
    Compare<kNot<kDiffer>, kF32>("s_cmp_nlg_f32"),
    Compare<kNot<kGreater>, kF32>("s_cmp_ngt_f32"),
    Compare<kNot<kLessEqual>, kF32>("s_cmp_nle_f32"),
    Compare<kNot<kEqual>, kF32>("s_cmp_neq_f32"),
    Compare<kNot<kLess>, kF32>("s_cmp_nlt_f32"),
    Compare<kLess, kF16>("s_cmp_lt_f16"),
    Compare<kEqual, kF16>("s_cmp_eq_f16"),
    Compare<kLessEqual, kF16>("s_cmp_le_f16"),
    Compare<kGreater, kF16>("s_cmp_gt_f16"),
    Compare<kDiffer, kF16>("s_cmp_lg_f16"),
    Compare<kGreaterEqual, kF16>("s_cmp_ge_f16"),
    Compare<kOrdered, kF16>("s_cmp_o_f16"),
    Compare<kNot<kOrdered>, kF16>("s_cmp_u_f16"),
    Compare<kNot<kGreaterEqual>, kF16>("s_cmp_nge_f16"),
    Compare<kNot<kDiffer>, kF16>("s_cmp_nlg_f16"),
    Compare<kNot<kGreater>, kF16>("s_cmp_ngt_f16"),
    Compare<kNot<kLessEqual>, kF16>("s_cmp_nle_f16"),
    Compare<kNot<kEqual>, kF16>("s_cmp_neq_f16"),
    Compare<kNot<kLess>, kF16>("s_cmp_nlt_f16"),

    Transcendental<kExpSingle, kF32>("v_s_exp_f32"),
    Transcendental<Exp2, kF16>("v_s_exp_f16"),
    Transcendental<Log2, kF32>("v_s_log_f32"),
    Transcendental<Log2, kF16>("v_s_log_f16"),
    Transcendental<kReciprocal, kF32>("v_s_rcp_f32"),
    Transcendental<kReciprocalHalf, kF16>("v_s_rcp_f16"),
    Transcendental<kReciprocalRoot, kF32>("v_s_rsq_f32"),
    Transcendental<kReciprocalRootHalf, kF16>("v_s_rsq_f16"),
    Transcendental<kRootSingle, kF32>("v_s_sqrt_f32"),
    Transcendental<kRootHalf, kF16>("v_s_sqrt_f16"),
};

}  // namespace

std::span<const Row> ScalarFloatRows() { return kRows; }

}  // namespace rochound::softgpu
