// SPDX-License-Identifier: MIT
//
// The 8-bit floats of gfx942: FP8 (1-4-3, bias 8) and BF8 (1-5-2, bias 16), the "FNUZ" kinds: no
// infinity, no negative zero, and 0x80 is the only NaN. Pure functions.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace rochound::softgpu {

template <int kExponentBits, int kMantissaBits>
struct MiniFloat {
  static constexpr int kBias = 1 << (kExponentBits - 1);
  static constexpr int kDropped = 23 - kMantissaBits;  // mantissa bits of a float that it lacks
  static constexpr uint32_t kNan = 0x80;
  static constexpr uint32_t kMax = 0x7F;

  static constexpr float Decode(uint32_t byte) {
    byte &= 0xFF;
    if (byte == kNan) return std::bit_cast<float>(0x7FC00000u);
    uint32_t exponent = byte >> kMantissaBits & ((1u << kExponentBits) - 1);
    uint32_t mantissa = byte & ((1u << kMantissaBits) - 1);
    int scale = exponent == 0 ? 1 : static_cast<int>(exponent);
    float value = static_cast<float>(exponent == 0 ? mantissa : mantissa | 1u << kMantissaBits);
    int power = 127 + scale - kBias - kMantissaBits;
    value *= std::bit_cast<float>(static_cast<uint32_t>(power) << 23);
    return byte & 0x80 ? -value : value;
  }

  static constexpr std::array<float, 256> MakeTable() {
    std::array<float, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) table[i] = Decode(i);
    return table;
  }
  static constexpr std::array<float, 256> kTable = MakeTable();

  // To nearest even. `random` (stochastic rounding) is added to the mantissa bits that are dropped,
  // and the rest is cut off instead. What is too large becomes NaN, or the maximum if `saturate`.
  static uint32_t Encode(float value, bool saturate, bool stochastic = false, uint32_t random = 0) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude >= 0x7F800000u) return kNan;
    if (stochastic) magnitude += random >> (32 - kDropped);
    constexpr int kLeastExponent = 127 - kBias + 1;  // of a float, for the least normal number
    int exponent = static_cast<int>(magnitude >> 23);
    uint32_t mantissa = exponent == 0 ? 0 : (magnitude & 0x7FFFFFu) | 0x800000u;
    int shift = kDropped;
    if (exponent < kLeastExponent) {
      shift += kLeastExponent - exponent;
      exponent = kLeastExponent;
    }
    if (shift > 25) shift = 25;  // below half of the least number
    uint32_t code = mantissa >> shift;
    if (!stochastic) {
      uint32_t rest = mantissa & ((1u << shift) - 1);
      uint32_t half = 1u << (shift - 1);
      code += rest > half || (rest == half && (code & 1));
    }
    // A normal number's leading bit counts one into the exponent, as does a carry.
    code += static_cast<uint32_t>(exponent - kLeastExponent) << kMantissaBits;
    if (code > kMax) {
      if (!saturate) return kNan;
      code = kMax;
    }
    return code == 0 ? 0 : code | (bits >> 24 & 0x80);
  }
};

using Fp8 = MiniFloat<4, 3>;
using Bf8 = MiniFloat<5, 2>;

}  // namespace rochound::softgpu
