// SPDX-License-Identifier: MIT
//
// Taking floats apart: fract and frexp, for any width. Lane functions; pure.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace rochound::softgpu {

// To the nearest integer, ties to even, in every rounding mode. The compilers do not vectorise
// roundeven.
inline void RoundEvenLanes(void* dst, const void* const* src, unsigned lanes) {
  auto* d = static_cast<float*>(dst);
  auto* a = static_cast<const float*>(src[0]);
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  for (unsigned i = 0; i < lanes; i += 8)
    _mm256_storeu_ps(d + i, _mm256_round_ps(_mm256_loadu_ps(a + i), kNearest));
}

// x - floor(x), which is 1 for a tiny negative x: the instruction stays below 1, as the compiler
// counts on when it replaces min(x - floor(x), below_one). Infinities give NaN.
template <typename T>
T Fraction(T x, T below_one) {
  T fraction = x - std::floor(x);
  return fraction > below_one ? below_one : fraction;
}

// The magnitude scaled to [1, 2) has this exponent; denormals are first scaled by 2^`lift`.
template <typename T, typename Word>
struct FrexpConstants {
  static constexpr int kMantissaBits = std::numeric_limits<T>::digits - 1;
  static constexpr int kBias = std::numeric_limits<T>::max_exponent - 1;
  static constexpr Word kSign = Word{1} << (8 * sizeof(Word) - 1);
  static constexpr Word kMantissa = (Word{1} << kMantissaBits) - 1;
  static constexpr Word kExponent = static_cast<Word>(~(kSign | kMantissa));
  static constexpr T kLift = static_cast<T>(Word{1} << (kMantissaBits + 1));
};

// [0.5, 1) with x's sign. Zero, infinity and NaN stay what they are.
template <typename T, typename Word>
T FrexpMantissa(T x) {
  using C = FrexpConstants<T, Word>;
  T lifted = x * C::kLift;
  Word bits = std::bit_cast<Word>(x);
  bits = bits & C::kExponent ? bits : std::bit_cast<Word>(lifted);
  bits = (bits & (C::kSign | C::kMantissa)) | static_cast<Word>(C::kBias - 1) << C::kMantissaBits;
  T result = std::bit_cast<T>(bits);
  result = x == T{0} ? std::bit_cast<T>(std::bit_cast<Word>(x) & C::kSign) : result;
  return std::fabs(x) < std::numeric_limits<T>::infinity() ? result : x;
}

// The exponent that belongs to it; 0 for zero, infinity and NaN.
template <typename T, typename Word>
int32_t FrexpExponent(T x) {
  using C = FrexpConstants<T, Word>;
  T lifted = x * C::kLift;
  Word bits = std::bit_cast<Word>(x);
  bool is_denormal = !(bits & C::kExponent);
  bits = is_denormal ? std::bit_cast<Word>(lifted) : bits;
  int32_t exponent = static_cast<int32_t>((bits & C::kExponent) >> C::kMantissaBits) -
                     (is_denormal ? C::kBias + C::kMantissaBits : C::kBias - 1);
  bool has_exponent = (x != T{0}) & (std::fabs(x) < std::numeric_limits<T>::infinity());
  return has_exponent ? exponent : 0;
}

}  // namespace rochound::softgpu
