// SPDX-License-Identifier: MIT
//
// VALU f32 arithmetic, rounding and transcendental instructions.
#include <cmath>

#include "softgpu/isa/semantics/float_lanes.h"
#include "softgpu/isa/semantics/float_parts.h"
#include "softgpu/isa/semantics/float_rows.h"
#include "softgpu/isa/semantics/transcendental.h"

namespace rochound::softgpu {
namespace {

constexpr Ty kF32 = Ty::kF32;

// DX9 rule: zero times anything is zero. Adding -0 changes nothing, not even the sign of a zero.
float FmaLegacy(float a, float b, float c) {
  bool is_zero = (a == 0.0f) | (b == 0.0f);
  return __builtin_fmaf(is_zero ? -0.0f : a, is_zero ? 1.0f : b, c);
}

// The transcendental unit works without denormals, whatever MODE says.
float FlushDenormal(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>(bits & 0x7F800000u ? bits : bits & 0x80000000u);
}

// gfx90a's multiply and add: two roundings, and no denormals whatever MODE says.
float MadFlushed(float a, float b, float c) {
  float product = FlushDenormal(FlushDenormal(a) * FlushDenormal(b));
  return FlushDenormal(product + FlushDenormal(c));
}
float MadLegacy(float a, float b, float c) {
  a = FlushDenormal(a);
  b = FlushDenormal(b);
  return (a == 0.0f) | (b == 0.0f) ? FlushDenormal(0.0f + FlushDenormal(c)) : MadFlushed(a, b, c);
}

float Reciprocal(float x) { return FlushDenormal(1.0f / FlushDenormal(x)); }
float SquareRoot(float x) { return std::sqrt(FlushDenormal(x)); }
float ReciprocalSquareRoot(float x) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(FlushDenormal(x))));
}

// The cube map instructions choose the axis of greatest magnitude; z wins ties, then y.
struct CubeAxis {
  bool is_z;
  bool is_y;
};
CubeAxis AxisOf(float x, float y, float z) {
  float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  return {az >= ax && az >= ay, ay >= ax};
}
float CubeId(float x, float y, float z) {
  CubeAxis axis = AxisOf(x, y, z);
  return axis.is_z   ? (z < 0 ? 5.0f : 4.0f)
         : axis.is_y ? (y < 0 ? 3.0f : 2.0f)
                     : (x < 0 ? 1.0f : 0.0f);
}
float CubeS(float x, float y, float z) {
  CubeAxis axis = AxisOf(x, y, z);
  return axis.is_z ? (z < 0 ? -x : x) : axis.is_y ? x : (x < 0 ? z : -z);
}
float CubeT(float x, float y, float z) {
  CubeAxis axis = AxisOf(x, y, z);
  return axis.is_z ? -y : axis.is_y ? (y < 0 ? -z : z) : -y;
}
float CubeMajor(float x, float y, float z) {
  CubeAxis axis = AxisOf(x, y, z);
  return (axis.is_z ? z : axis.is_y ? y : x) * 2.0f;
}

float MulLit(float a, float b, float c) {
  constexpr float kMax = 0x1.fffffep127f;
  bool is_limit = (b == -kMax) | (b == -__builtin_inff()) | (b != b) | !(c > 0.0f);
  return is_limit ? -kMax : a * b;
}

// x * 2^n is exact in double for every n that matters, so the one rounding is the conversion.
float ScaleSingle(float x, int32_t n) {
  n = n < -400 ? -400 : n;
  n = n > 400 ? 400 : n;
  uint64_t exponent = static_cast<uint64_t>(static_cast<uint32_t>(n + 1023)) << 52;
  return static_cast<float>(static_cast<double>(x) * std::bit_cast<double>(exponent));
}

template <auto F>
constexpr Row Single1(std::string_view mnemonic) {
  return Vector<F, kF32, kF32>(mnemonic);
}
template <auto F>
constexpr Row Single2(std::string_view mnemonic) {
  return Vector<F, kF32, kF32, kF32>(mnemonic);
}
template <auto F>
constexpr Row Single3(std::string_view mnemonic, uint32_t targets = kAllTargets) {
  return Vector<F, kF32, kF32, kF32, kF32>(mnemonic, 0, targets);
}

constexpr Row kRows[] = {
    Single2<[](float a, float b) { return a + b; }>("v_add_f32"),
    Single2<[](float a, float b) { return a - b; }>("v_sub_f32"),
    Single2<[](float a, float b) { return b - a; }>("v_subrev_f32"),
    Single2<[](float a, float b) { return a * b; }>("v_mul_f32"),
    Single2<[](float a, float b) { return (a == 0.0f) | (b == 0.0f) ? 0.0f : a * b; }>(
        "v_mul_legacy_f32"),
    Single3<FmaFloat>("v_fma_f32"),
    Single3<FmaFloat>("v_fmaak_f32"),  // the text has the factors first, whichever the literal is
    Single3<FmaFloat>("v_fmamk_f32"),
    Accumulate<FmaFloat, kF32, kF32, kF32>("v_fmac_f32"),
    Single3<FmaLegacy>("v_fma_legacy_f32", kRdnaTargets),
    Accumulate<FmaLegacy, kF32, kF32, kF32>("v_fmac_legacy_f32", 0, kRdnaTargets),
    Single3<MadFlushed>("v_mad_f32", kGfx90a),
    Single3<MadFlushed>("v_madak_f32", kGfx90a),
    Single3<MadFlushed>("v_madmk_f32", kGfx90a),
    Accumulate<MadFlushed, kF32, kF32, kF32>("v_mac_f32", 0, kGfx90a),
    Single3<MadLegacy>("v_mad_legacy_f32", kGfx90a),
    Single3<MulLit>("v_mullit_f32", kRdnaTargets),

    Single1<[](float x) { return std::floor(x); }>("v_floor_f32"),
    Single1<[](float x) { return std::ceil(x); }>("v_ceil_f32"),
    Single1<[](float x) { return std::trunc(x); }>("v_trunc_f32"),
    {"v_rndne_f32", &ExecVector, {kF32, kF32}, &RoundEvenLanes},
    Single1<[](float x) { return Fraction(x, 0x1.fffffep-1f); }>("v_fract_f32"),
    Vector<ScaleSingle, kF32, kF32, Ty::kI32>("v_ldexp_f32"),
    Single1<FrexpMantissa<float, uint32_t>>("v_frexp_mant_f32"),
    Vector<FrexpExponent<float, uint32_t>, Ty::kI32, kF32>("v_frexp_exp_i32_f32"),

    Single1<Reciprocal>("v_rcp_f32"),
    Single1<Reciprocal>("v_rcp_iflag_f32"),  // differs in the exceptions it raises
    Single1<ReciprocalSquareRoot>("v_rsq_f32"),
    Single1<SquareRoot>("v_sqrt_f32"),
    Single1<[](float x) { return FlushDenormal(Exp2(x)); }>("v_exp_f32"),
    Single1<Log2>("v_log_f32"),
    Single1<[](float x) { return FlushDenormal(Exp2(x)); }>("v_exp_legacy_f32"),
    Single1<Log2>("v_log_legacy_f32"),
    Single1<Sine>("v_sin_f32"),
    Single1<Cosine>("v_cos_f32"),

    Single3<CubeId>("v_cubeid_f32"),
    Single3<CubeS>("v_cubesc_f32"),
    Single3<CubeT>("v_cubetc_f32"),
    Single3<CubeMajor>("v_cubema_f32"),
};

}  // namespace

std::span<const Row> SingleRows() { return kRows; }

}  // namespace rochound::softgpu
