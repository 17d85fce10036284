// SPDX-License-Identifier: MIT
//
// exp2, log2, sine and cosine of a float, computed in double by branch-free polynomials so that
// lane loops vectorise. The result is within 0.51 ulp of a float, inside the 1 ulp that the
// instruction set manuals promise; that hardware gives the same bits is not claimed. Pure
// functions.
#pragma once

#include <bit>
#include <cstdint>

namespace rochound::softgpu {

inline constexpr double kRoundShifter = 0x1.8p52;  // adding it leaves the nearest integer below

// Results below 2^-126 are not flushed here.
inline float Exp2(float value) {
  double x = value;
  x = x > 130.0 ? 130.0 : x;
  x = x < -160.0 ? -160.0 : x;
  double shifted = x + kRoundShifter;
  double r = x - (shifted - kRoundShifter);  // [-0.5, 0.5]
  double p = 7.0549116208011209e-09;         // ln(2)^n / n!
  p = __builtin_fma(p, r, 1.0178086009239696e-07);
  p = __builtin_fma(p, r, 1.3215486790144305e-06);
  p = __builtin_fma(p, r, 1.5252733804059838e-05);
  p = __builtin_fma(p, r, 1.5403530393381606e-04);
  p = __builtin_fma(p, r, 1.3333558146428441e-03);
  p = __builtin_fma(p, r, 9.6181291076284769e-03);
  p = __builtin_fma(p, r, 5.5504108664821576e-02);
  p = __builtin_fma(p, r, 2.4022650695910069e-01);
  p = __builtin_fma(p, r, 6.9314718055994529e-01);
  p = __builtin_fma(p, r, 1.0);
  uint64_t exponent = std::bit_cast<uint64_t>(shifted) << 52;
  float result = static_cast<float>(std::bit_cast<double>(std::bit_cast<uint64_t>(p) + exponent));
  return value != value ? value + value : result;
}

// Denormal floats count as zero, as the f32 instruction has it; no half is a denormal float.
inline float Log2(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t from_root_half = bits - 0x3F3504F3u;
  int32_t exponent = static_cast<int32_t>(from_root_half) >> 23;
  double m = std::bit_cast<float>(bits - (static_cast<uint32_t>(exponent) << 23));
  double t = (m - 1.0) / (m + 1.0);  // |t| < 0.1716
  double u = t * t;
  double p = 0.19235933878519512;  // 2 / (ln(2) * n)
  p = __builtin_fma(p, u, 0.22195308321368670);
  p = __builtin_fma(p, u, 0.26230818925253879);
  p = __builtin_fma(p, u, 0.32059889797532520);
  p = __builtin_fma(p, u, 0.41219858311113244);
  p = __builtin_fma(p, u, 0.57707801635558531);
  p = __builtin_fma(p, u, 0.96179669392597567);
  p = __builtin_fma(p, u, 2.88539008177792677);
  float result = static_cast<float>(exponent + t * p);
  uint32_t magnitude = bits & 0x7FFFFFFFu;
  result = bits == 0x7F800000u ? value : result;
  result = bits >> 31 ? std::bit_cast<float>(0xFFC00000u) : result;
  result = magnitude < 0x00800000u ? std::bit_cast<float>(0xFF800000u) : result;
  return value != value ? value + value : result;
}

// sin(2 * pi * r) for |r| <= 0.25.
inline double SineOfTurns(double r) {
  double u = r * r;
  double p = 1.2031585942120619e-02;  // (2 pi)^n / n!
  p = __builtin_fma(-p, u, 0.10422916220813978);
  p = __builtin_fma(-p, u, 0.71812230177850012);
  p = __builtin_fma(-p, u, 3.8199525848482803);
  p = __builtin_fma(-p, u, 15.094642576822984);
  p = __builtin_fma(-p, u, 42.058693944897634);
  p = __builtin_fma(-p, u, 76.705859753061361);
  p = __builtin_fma(-p, u, 81.605249276075043);
  p = __builtin_fma(-p, u, 41.341702240399755);
  p = __builtin_fma(-p, u, 6.2831853071795862);
  return p * r;
}

// The domain is [-256, 256] turns; outside of it the manuals give sine 0 and cosine 1.
inline float Sine(float value) {
  double x = value;
  double r = x - ((x + kRoundShifter) - kRoundShifter);  // [-0.5, 0.5]
  double folded = (r < 0 ? -0.5 : 0.5) - r;
  r = r > 0.25 || r < -0.25 ? folded : r;
  uint32_t bits = std::bit_cast<uint32_t>(value);
  float magnitude = std::bit_cast<float>(bits & 0x7FFFFFFFu);
  float result = static_cast<float>(SineOfTurns(r));
  result = magnitude > 256.0f ? 0.0f : result;
  result = magnitude == __builtin_inff() ? std::bit_cast<float>(0xFFC00000u) : result;
  result = magnitude == 0.0f ? std::bit_cast<float>(bits & 0x80000000u) : result;
  return value != value ? value + value : result;
}

inline float Cosine(float value) {
  double x = value;
  double r = x - ((x + kRoundShifter) - kRoundShifter);
  float magnitude = std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0x7FFFFFFFu);
  float result = static_cast<float>(SineOfTurns(0.25 - (r < 0 ? -r : r)));
  result = magnitude > 256.0f ? 1.0f : result;
  result = magnitude == __builtin_inff() ? std::bit_cast<float>(0xFFC00000u) : result;
  return value != value ? value + value : result;
}

}  // namespace rochound::softgpu
