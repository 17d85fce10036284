// SPDX-License-Identifier: MIT
//
// The small floats that gfx950 took over from the Open Compute Project: FP8 (1-4-3), BF8 (1-5-2),
// FP6 (1-2-3), BF6 (1-3-2) and FP4 (1-2-1), and the block scale of the MX formats. gfx942's FP8 and
// BF8 are others: mini_float.h. Pure functions; the host must round to nearest.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace rochound::softgpu {

// What the greatest codes mean.
enum class OcpKind : uint8_t {
  kFinite,  // numbers, all of them
  kNan,     // all ones is a NaN, there is no infinity
  kIeee,    // infinity and NaNs as in the wider formats
};

template <int kExponentBits, int kMantissa, OcpKind kKind>
struct OcpFloat {
  static constexpr int kMantissaBits = kMantissa;
  static constexpr int kBits = 1 + kExponentBits + kMantissa;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kLeastExponent = 1 - kBias;
  static constexpr uint32_t kSign = 1u << (kBits - 1);
  static constexpr uint32_t kInfinity = ((1u << kExponentBits) - 1) << kMantissa;
  static constexpr uint32_t kMax = kKind == OcpKind::kFinite ? kSign - 1
                                   : kKind == OcpKind::kNan  ? kSign - 2
                                                             : kInfinity - 1;
  static constexpr uint32_t kNan =
      kKind == OcpKind::kIeee ? kInfinity | 1u << (kMantissa - 1) : kSign - 1;
  static constexpr uint32_t kBeyond = kKind == OcpKind::kIeee  ? kInfinity
                                      : kKind == OcpKind::kNan ? kNan
                                                               : kMax;

  static constexpr float Decode(uint32_t code) {
    uint32_t magnitude = code & (kSign - 1);
    uint32_t sign = code & kSign ? 0x80000000u : 0;
    if (kKind == OcpKind::kIeee && magnitude == kInfinity)
      return std::bit_cast<float>(sign | 0x7F800000u);
    if (magnitude > kMax) return std::bit_cast<float>(sign | 0x7FC00000u);
    uint32_t exponent = magnitude >> kMantissa;
    uint32_t mantissa = magnitude & ((1u << kMantissa) - 1);
    if (exponent != 0) mantissa |= 1u << kMantissa;
    int power = (exponent != 0 ? static_cast<int>(exponent) : 1) - kBias - kMantissa;
    float value = static_cast<float>(mantissa) *
                  std::bit_cast<float>(static_cast<uint32_t>(power + 127) << 23);
    return sign != 0 ? -value : value;
  }

  static constexpr std::array<float, 1u << kBits> kTable = [] {
    std::array<float, 1u << kBits> table{};
    for (uint32_t i = 0; i < table.size(); ++i) table[i] = Decode(i);
    return table;
  }();

  // To nearest even. What is too large becomes infinity or NaN, or the greatest number if there is
  // neither or if it is to saturate. A NaN keeps its sign.
  static uint32_t Encode(double value, bool saturate) {
    uint32_t sign = std::signbit(value) ? kSign : 0;
    double magnitude = std::fabs(value);
    if (!std::isfinite(magnitude)) return sign | NotFinite(magnitude, saturate);
    int exponent = ExponentOf(magnitude);
    auto code = static_cast<uint64_t>(std::nearbyint(std::ldexp(magnitude, kMantissa - exponent)));
    return sign | Finish(code, exponent, saturate);
  }

  // With `random` added to the bits that are cut off. A source has kSource bits of mantissa and
  // takes part with no more than those, also where the result is denormal.
  template <int kSource>
  static uint32_t EncodeRandom(double value, bool saturate, uint32_t random) {
    uint32_t sign = std::signbit(value) ? kSign : 0;
    double magnitude = std::fabs(value);
    if (!std::isfinite(magnitude)) return sign | NotFinite(magnitude, saturate);
    int exponent = ExponentOf(magnitude);
    auto fixed = static_cast<uint64_t>(std::ldexp(magnitude, kSource - exponent));
    fixed += random >> (32 - (kSource - kMantissa));
    return sign | Finish(fixed >> (kSource - kMantissa), exponent, saturate);
  }

  // The forms that convert.cpp uses of gfx942's formats as well.
  static uint32_t Encode(float value, bool saturate, bool stochastic, uint32_t random) {
    return stochastic ? EncodeRandom<23>(static_cast<double>(value), saturate, random)
                      : Encode(static_cast<double>(value), saturate);
  }

 private:
  static int ExponentOf(double magnitude) {
    int exponent = magnitude == 0 ? kLeastExponent : std::ilogb(magnitude);
    return exponent < kLeastExponent ? kLeastExponent : exponent;
  }
  static uint32_t NotFinite(double magnitude, bool saturate) {
    if (std::isnan(magnitude)) return kNan;
    return saturate ? kMax : kBeyond;
  }
  // A normal number's leading bit counts one into the exponent, as does a carry.
  static uint32_t Finish(uint64_t code, int exponent, bool saturate) {
    code += static_cast<uint64_t>(exponent - kLeastExponent) << kMantissa;
    if (code > kMax) return saturate ? kMax : kBeyond;
    return static_cast<uint32_t>(code);
  }
};

using OcpFp8 = OcpFloat<4, 3, OcpKind::kNan>;
using OcpBf8 = OcpFloat<5, 2, OcpKind::kIeee>;
using OcpFp6 = OcpFloat<2, 3, OcpKind::kFinite>;
using OcpBf6 = OcpFloat<3, 2, OcpKind::kFinite>;
using OcpFp4 = OcpFloat<2, 1, OcpKind::kFinite>;

// E8M0: a power of two, or NaN.
inline double BlockScale(uint32_t code) {
  return (code & 0xFF) == 0xFF ? std::nan("")
                               : std::ldexp(1.0, static_cast<int>(code & 0xFF) - 127);
}

}  // namespace rochound::softgpu
