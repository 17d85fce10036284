// SPDX-License-Identifier: MIT
//
// Sums of absolute differences of bytes, as the v_sad family takes them. Pure functions.
#pragma once

#include <cstdint>

#include "softgpu/isa/semantics/bit_math.h"

namespace rochound::softgpu {

constexpr uint32_t ByteOf(uint32_t x, unsigned i) { return x >> (8 * i) & 0xFF; }

constexpr uint32_t Sad8(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (unsigned i = 0; i < 4; ++i) sum += AbsoluteDifference(ByteOf(a, i), ByteOf(b, i));
  return sum;
}

// Bytes whose reference in `b` is zero do not count.
constexpr uint32_t MaskedSad8(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (unsigned i = 0; i < 4; ++i) {
    uint32_t reference = ByteOf(b, i);
    uint32_t difference = AbsoluteDifference(ByteOf(a, i), reference);
    sum += reference == 0 ? 0 : difference;
  }
  return sum;
}

constexpr uint32_t Sad16(uint32_t a, uint32_t b) {
  return AbsoluteDifference(a & 0xFFFF, b & 0xFFFF) + AbsoluteDifference(a >> 16, b >> 16);
}

}  // namespace rochound::softgpu
