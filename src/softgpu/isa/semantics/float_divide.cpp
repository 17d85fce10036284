// SPDX-License-Identifier: MIT
//
// The instructions that a division is made of: scale both sides into a safe range, iterate with
// plain fma, undo the scaling with one rounding, and fix up what no iteration gets right. The
// compiler's sequences with them give correctly rounded quotients.
#include <cmath>
#include <limits>

#include "softgpu/isa/semantics/float_lanes.h"
#include "softgpu/isa/semantics/float_rows.h"

namespace rochound::softgpu {
namespace {

template <typename T>
struct DivideFormat;
template <>
struct DivideFormat<float> {
  using Word = uint32_t;
  static constexpr Ty kType = Ty::kF32;
  static constexpr int kMantissaBits = 23;
  static constexpr float kUp = 0x1p64f, kDown = 0x1p-64f;
  static constexpr int kNearMaximum = 96;    // exponent of n/d from which n/d is near the maximum
  static constexpr int kTinyNumerator = 23;  // biased exponent
  static constexpr int kUnderflow = -150;    // exponent of n/d below which n/d is no number
  static constexpr float kLargeDivisor = 0x1p126f;  // above, 1/d is denormal
};
template <>
struct DivideFormat<double> {
  using Word = uint64_t;
  static constexpr Ty kType = Ty::kF64;
  static constexpr int kMantissaBits = 52;
  static constexpr double kUp = 0x1p128, kDown = 0x1p-128;
  static constexpr int kNearMaximum = 768;
  static constexpr int kTinyNumerator = 53;
  static constexpr int kUnderflow = -1075;
  static constexpr double kLargeDivisor = 0x1p1022;
};

template <typename T>
using WordOf = typename DivideFormat<T>::Word;

template <typename T>
int BiasedExponent(T x) {
  WordOf<T> magnitude = std::bit_cast<WordOf<T>>(x) << 1;
  return static_cast<int>(magnitude >> (DivideFormat<T>::kMantissaBits + 1));
}

template <typename T>
struct Scaled {
  T value;
  bool flag;
};

// What v_div_scale does to x, which is the numerator or the divisor: the value, and whether
// v_div_fmas has to undo a scaling. Where the quotient and 1/d are denormal, the divisor is scaled
// down: the manuals' pseudo-code says up, which would overflow it.
template <typename T>
Scaled<T> DivScale(T x, T d, T n) {
  using F = DivideFormat<T>;
  constexpr T kMinNormal = std::numeric_limits<T>::min();
  int exponent = BiasedExponent(n) - BiasedExponent(d);
  T magnitude = std::fabs(d);
  T quotient = std::fabs(n / d);
  bool invalid = (n == T{0}) | (d == T{0});
  bool near_maximum = exponent >= F::kNearMaximum;
  bool denormal_divisor = magnitude < kMinNormal;
  bool large_divisor =
      (magnitude > F::kLargeDivisor) & (magnitude < std::numeric_limits<T>::infinity());
  bool denormal_quotient = quotient < kMinNormal;  // or none at all
  bool tiny_numerator = BiasedExponent(n) <= F::kTinyNumerator;
  bool is_divisor = x == d;
  bool is_numerator = x == n;

  T scale = tiny_numerator ? F::kUp : T{1};
  scale = denormal_quotient ? (is_numerator ? F::kUp : T{1}) : scale;
  scale = large_divisor ? F::kDown : scale;
  scale = large_divisor & denormal_quotient ? (is_divisor ? F::kDown : T{1}) : scale;
  scale = denormal_divisor ? F::kUp : scale;
  scale = near_maximum ? (is_divisor ? F::kUp : T{1}) : scale;
  bool flag = !invalid && (near_maximum || (!denormal_divisor && denormal_quotient));
  return {invalid ? std::numeric_limits<T>::quiet_NaN() : x * scale, flag};
}

template <typename T>
const Op* ExecDivScale(Wave& wave, const Op* op) {
  using Word = WordOf<T>;
  constexpr Ty kType = DivideFormat<T>::kType;
  uint64_t lanes = wave.exec();
  uint64_t mask = 0;
  if (lanes != 0) {
    RowBuffer buffers[3];
    const T* in[3];
    for (unsigned n = 0; n < 3; ++n)
      in[n] = static_cast<const T*>(FetchSource(wave, op, n + 2, n, kType, &buffers[n], &lanes));
    RowBuffer result;
    RowBuffer flags;
    auto* out = reinterpret_cast<Word*>(result.bytes);
    {
      FloatMode mode(wave, kType);
      for (unsigned i = 0; i < wave.lanes; ++i) {
        Scaled<T> scaled = DivScale(in[0][i], in[1][i], in[2][i]);
        out[i] = std::bit_cast<Word>(scaled.value);
        flags.u32()[i] = scaled.flag ? ~0u : 0u;
      }
    }
    mask = CollectMask(flags.u32(), wave.lanes) & lanes;
    StoreResult(wave, op, 0, kType, &result, lanes);
  }
  WriteMask(wave, op->operand[1], mask);
  return op + 1;
}

// a * b + c times 2^64 or 2^-64, rounded once: exact product in double, sum rounded to odd.
// In the directed modes two roundings are one, and the error would not be exact.
float FmaScaled(float a, float b, float c, bool to_nearest) {
  double product = static_cast<double>(a) * b;
  double sum = product + c;
  double part = sum - product;
  double error = (product - (sum - part)) + (c - part);
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  bool inexact = to_nearest && (error > 0.0 || error < 0.0);
  if (inexact && !(bits & 1)) bits += (std::bit_cast<uint64_t>(error) ^ bits) >> 63 ? -1 : 1;
  double scale = std::fabs(c) >= 2.0f ? 0x1p64 : 0x1p-64;
  return static_cast<float>(std::bit_cast<double>(bits) * scale);
}

// The sign of a * b + c - sum, where sum is its rounded value, as the division means it: a is the
// remainder n - d * c and b the reciprocal of d, both rounded. Their roundings can hide on which
// side of `sum` the quotient n / d lies, so d and n are found again: d is next to 1 / b, and hardly
// any other neighbour makes a double of n. Without such a d (no division) b counts as it is.
double ErrorOfQuotient(double a, double b, double c, double sum) {
  for (int64_t step : {0, 1, -1, 2, -2}) {
    double d = std::bit_cast<double>(std::bit_cast<int64_t>(1.0 / b) + step);
    double n = __builtin_fma(d, c, a);
    double product = d * c;
    double rest = (a - (n - product)) + __builtin_fma(d, c, -product);
    if (1.0 / d == b && std::fabs(rest) <= std::fabs(a) * 0x1p-53)
      return std::copysign(1.0, d) * __builtin_fma(-sum, d, n);
  }
  // The error of a fma is a sum of doubles (Boldo and Muller).
  double product = a * b;
  double product_error = __builtin_fma(a, b, -product);
  double low = c + product_error;
  double low_part = low - c;
  double low_error = (c - (low - low_part)) + (product_error - low_part);
  double high = product + low;
  double high_part = high - product;
  double high_error = (product - (high - high_part)) + (low - high_part);
  return ((high - sum) + high_error) + low_error;
}

// The same by 2^128. The scaled result can be denormal and was then rounded twice; that is wrong
// only if the first rounding made a tie of it, which its error decides.
double FmaScaled(double a, double b, double c, bool to_nearest) {
  double sum = __builtin_fma(a, b, c);
  if (std::fabs(c) >= 2.0) return sum * 0x1p128;
  double result = sum * 0x1p-128;
  double lost = sum - result * 0x1p128;
  if (!to_nearest || std::fabs(lost) != 0x1p-947) return result;
  double error = ErrorOfQuotient(a, b, c, sum);
  if (lost > 0.0 && error > 0.0) return result + 0x1p-1074;
  if (lost < 0.0 && error < 0.0) return result - 0x1p-1074;
  return result;
}

template <typename T>
const Op* ExecDivFmas(Wave& wave, const Op* op) {
  using Word = WordOf<T>;
  constexpr Ty kType = DivideFormat<T>::kType;
  uint64_t lanes = wave.exec();
  if (lanes == 0) return op + 1;
  uint64_t scaled = wave.vcc() & lanes;
  RowBuffer buffers[3];
  const T* in[3];
  for (unsigned n = 0; n < 3; ++n)
    in[n] = static_cast<const T*>(FetchSource(wave, op, n + 1, n, kType, &buffers[n], &lanes));
  RowBuffer result;
  auto* out = reinterpret_cast<Word*>(result.bytes);
  {
    FloatMode mode(wave, kType);
    bool to_nearest = HostMode::Now().to_nearest;
    for (unsigned i = 0; i < wave.lanes; ++i) {
      if constexpr (sizeof(T) == 4)
        out[i] = std::bit_cast<Word>(__builtin_fmaf(in[0][i], in[1][i], in[2][i]));
      else
        out[i] = std::bit_cast<Word>(__builtin_fma(in[0][i], in[1][i], in[2][i]));
    }
    for (; scaled != 0; scaled &= scaled - 1) {
      auto i = static_cast<unsigned>(std::countr_zero(scaled));
      out[i] = std::bit_cast<Word>(FmaScaled(in[0][i], in[1][i], in[2][i], to_nearest));
    }
  }
  StoreResult(wave, op, 0, kType, &result, lanes);
  return op + 1;
}

// Without a branch, so that the lane loop vectorises.
template <typename Word>
Word Choose(bool condition, Word yes, Word no) {
  Word mask = Word{0} - Word{condition};
  return (yes & mask) | (no & ~mask);
}

// The quotient q of n/d: its sign, and the cases that no iteration gets right. Where n/d overflows,
// the iteration ends in infinity or NaN; the manuals' pseudo-code tests d for that by mistake (it
// was found finite before), with which such a division would end in NaN. Halves (as floats) cannot
// leave the range.
template <typename T, bool kHasRange>
T DivFixup(T q, T d, T n) {
  using Word = WordOf<T>;
  using F = DivideFormat<T>;
  constexpr Word kSign = Word{1} << (8 * sizeof(Word) - 1);
  constexpr Word kInfinity = std::bit_cast<Word>(std::numeric_limits<T>::infinity());
  constexpr Word kQuiet = Word{1} << (F::kMantissaBits - 1);
  constexpr Word kInvalid = kSign | kInfinity | kQuiet;
  constexpr T kMinimum = std::numeric_limits<T>::min();
  constexpr T kMaximum = std::numeric_limits<T>::max();
  Word d_bits = std::bit_cast<Word>(d);
  Word n_bits = std::bit_cast<Word>(n);
  Word sign = (d_bits ^ n_bits) & kSign;
  Word d_magnitude = d_bits & ~kSign;
  Word n_magnitude = n_bits & ~kSign;
  bool d_infinite = d_magnitude == kInfinity, d_zero = d == T{0};
  bool n_infinite = n_magnitude == kInfinity, n_zero = n == T{0};

  Word result = sign | (std::bit_cast<Word>(q) & ~kSign);
  if constexpr (kHasRange) {
    // Multiplied, because the rounding mode may choose the largest or the least number instead.
    T overflow = std::bit_cast<T>(sign | std::bit_cast<Word>(kMaximum)) * kMaximum;
    T underflow = std::bit_cast<T>(sign | std::bit_cast<Word>(kMinimum)) * kMinimum;
    bool overflows = (std::bit_cast<Word>(q) & kInfinity) == kInfinity;
    bool underflows = BiasedExponent(n) - BiasedExponent(d) < F::kUnderflow;
    result = Choose(overflows, std::bit_cast<Word>(overflow), result);
    result = Choose(underflows, std::bit_cast<Word>(underflow), result);
  }
  result = Choose(d_infinite | n_zero, sign, result);
  result = Choose(d_zero | n_infinite, sign | kInfinity, result);
  result = Choose((d_zero & n_zero) | (d_infinite & n_infinite), kInvalid, result);
  result = Choose(d_magnitude > kInfinity, d_bits | kQuiet, result);
  result = Choose(n_magnitude > kInfinity, n_bits | kQuiet, result);
  return std::bit_cast<T>(result);
}

template <typename T>
constexpr Row ScaleRow(std::string_view mnemonic) {
  constexpr Ty kType = DivideFormat<T>::kType;
  return {mnemonic, &ExecDivScale<T>, {kType, Ty::kMask, kType, kType, kType}};
}
template <typename T>
constexpr Row FmasRow(std::string_view mnemonic) {
  constexpr Ty kType = DivideFormat<T>::kType;
  return {mnemonic, &ExecDivFmas<T>, {kType, kType, kType, kType}};
}

constexpr Row kRows[] = {
    ScaleRow<float>("v_div_scale_f32"),
    ScaleRow<double>("v_div_scale_f64"),
    FmasRow<float>("v_div_fmas_f32"),
    FmasRow<double>("v_div_fmas_f64"),
    Vector<DivFixup<float, true>, Ty::kF32, Ty::kF32, Ty::kF32, Ty::kF32>("v_div_fixup_f32"),
    Vector<DivFixup<double, true>, Ty::kF64, Ty::kF64, Ty::kF64, Ty::kF64>("v_div_fixup_f64"),
    Half3<DivFixup<float, false>>("v_div_fixup_f16", kKeepsHigh16),
    Half3<DivFixup<float, false>>("v_div_fixup_legacy_f16", 0, kGfx9Targets),
};

}  // namespace

std::span<const Row> DivideRows() { return kRows; }

}  // namespace rochound::softgpu
