// SPDX-License-Identifier: MIT
//
// Bit counting and the like for lane functions. Pure functions.
#pragma once

#include <bit>
#include <cstdint>

namespace rochound::softgpu {

constexpr uint32_t ReverseBits(uint32_t x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0F0F0F0Fu) | (x & 0x0F0F0F0Fu) << 4;
  x = (x >> 8 & 0x00FF00FFu) | (x & 0x00FF00FFu) << 8;
  return x >> 16 | x << 16;
}

constexpr uint32_t CountBits(uint32_t x) { return static_cast<uint32_t>(std::popcount(x)); }

// Position of the lowest set bit; all ones if there is none.
constexpr uint32_t FindLowestBit(uint32_t x) {
  return x == 0 ? ~0u : static_cast<uint32_t>(std::countr_zero(x));
}

// Zeros above the highest set bit; all ones if there is none.
constexpr uint32_t FindHighestBit(uint32_t x) {
  return x == 0 ? ~0u : static_cast<uint32_t>(std::countl_zero(x));
}

// Bits from the top that equal the sign bit; all ones if all of them do.
constexpr uint32_t FindSignChange(int32_t x) {
  return FindHighestBit(static_cast<uint32_t>(x ^ (x >> 31)));
}

constexpr int32_t SignExtend24(uint32_t x) { return static_cast<int32_t>(x << 8) >> 8; }

constexpr uint32_t AbsoluteDifference(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }

}  // namespace rochound::softgpu
