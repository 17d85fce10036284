// SPDX-License-Identifier: MIT
//
// VALU f64 arithmetic, rounding and the starting values of division, roots and trigonometry.
#include <cmath>

#include "softgpu/isa/semantics/float_lanes.h"
#include "softgpu/isa/semantics/float_parts.h"
#include "softgpu/isa/semantics/float_rows.h"

namespace rochound::softgpu {
namespace {

constexpr Ty kF64 = Ty::kF64;

double Fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

// x * 2^n with one rounding: the exponent is set exactly, and a result that is not a normal number
// is brought there by one last multiplication.
double ScaleDouble(double x, int32_t n) {
  constexpr uint64_t kExponent = 0x7FF0000000000000;
  if (x == 0.0 || !(std::fabs(x) < __builtin_inf())) return x + x;
  n = n < -5000 ? -5000 : n > 5000 ? 5000 : n;
  uint64_t bits = std::bit_cast<uint64_t>(x);
  if ((bits & kExponent) == 0) {
    bits = std::bit_cast<uint64_t>(x * 0x1p54);
    n -= 54;
  }
  int32_t exponent = static_cast<int32_t>((bits & kExponent) >> 52) + n;
  double last = 1.0;
  if (exponent > 2046) {
    exponent = 2046;
    last = 0x1p1000;
  } else if (exponent < -54) {
    exponent = 1;
    last = 0x1p-1000;
  } else if (exponent < 1) {
    exponent += 64;
    last = 0x1p-64;
  }
  bits = (bits & ~kExponent) | static_cast<uint64_t>(exponent) << 52;
  return std::bit_cast<double>(bits) * last;
}

// The first 1201 bits of 2/pi after the point, most significant word first.
constexpr uint64_t kTwoOverPi[] = {
    0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484,
    0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B,
    0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B0000,
};
constexpr unsigned kTwoOverPiBits = 64 * std::size(kTwoOverPi);

// 53 bits of 2/pi from a position that depends on the magnitude of x and the segment, in their
// place: what Payne-Hanek reduction multiplies x by. Always exact or rounded towards zero.
double TrigPreop(double x, uint32_t segment) {
  unsigned exponent = static_cast<unsigned>(std::bit_cast<uint64_t>(x) >> 52 & 0x7FF);
  unsigned shift = (segment & 31) * 53;
  if (exponent > 1077) shift += exponent - 1077;
  int scale = -53 - static_cast<int>(shift);
  if (exponent >= 1968) scale += 128;
  if (shift >= kTwoOverPiBits) return 0.0;
  unsigned word = shift / 64;
  unsigned bit = shift % 64;
  uint64_t next = word + 1 < std::size(kTwoOverPi) ? kTwoOverPi[word + 1] : 0;
  uint64_t window = bit == 0 ? kTwoOverPi[word] : kTwoOverPi[word] << bit | next >> (64 - bit);
  uint64_t digits = window >> 11;
  if (scale < -1074) {
    int excess = -1074 - scale;
    digits = excess < 64 ? digits >> excess : 0;
    scale = -1074;
  }
  return std::ldexp(static_cast<double>(digits), scale);
}

template <auto F>
constexpr Row Double1(std::string_view mnemonic) {
  return Vector<F, kF64, kF64>(mnemonic);
}
template <auto F>
constexpr Row Double2(std::string_view mnemonic) {
  return Vector<F, kF64, kF64, kF64>(mnemonic);
}

constexpr Row kRows[] = {
    Double2<[](double a, double b) { return a + b; }>("v_add_f64"),
    Double2<[](double a, double b) { return a * b; }>("v_mul_f64"),
    Vector<Fma, kF64, kF64, kF64, kF64>("v_fma_f64"),
    Accumulate<Fma, kF64, kF64, kF64>("v_fmac_f64", 0, kGfx9Targets),

    Double1<[](double x) { return std::floor(x); }>("v_floor_f64"),
    Double1<[](double x) { return std::ceil(x); }>("v_ceil_f64"),
    Double1<[](double x) { return std::trunc(x); }>("v_trunc_f64"),
    Double1<[](double x) { return __builtin_roundeven(x); }>("v_rndne_f64"),
    Double1<[](double x) { return Fraction(x, 0x1.fffffffffffffp-1); }>("v_fract_f64"),
    Vector<ScaleDouble, kF64, kF64, Ty::kI32>("v_ldexp_f64"),
    Double1<FrexpMantissa<double, uint64_t>>("v_frexp_mant_f64"),
    {"v_frexp_exp_i32_f64",
     &ExecInMode<kF64>,
     {Ty::kI32, kF64},
     &Lanes1<FrexpExponent<double, uint64_t>, Ty::kI32, kF64>},

    // The manuals promise about 2^-29; hardware's bits are not claimed.
    Double1<[](double x) { return 1.0 / x; }>("v_rcp_f64"),
    Double1<[](double x) { return 1.0 / std::sqrt(x); }>("v_rsq_f64"),
    Double1<[](double x) { return std::sqrt(x); }>("v_sqrt_f64"),
    Vector<TrigPreop, kF64, kF64, Ty::kU32>("v_trig_preop_f64"),
};

}  // namespace

std::span<const Row> DoubleRows() { return kRows; }

}  // namespace rochound::softgpu
