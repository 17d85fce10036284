// SPDX-License-Identifier: MIT
//
// Registers as ranges of values, for reach.cpp: a 32-bit register is an interval with the bits of
// its origins, and may be half of a 64-bit one, whose interval is kept apart because addresses
// carry from one half into the other. Plain values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace rochound::doctor {

struct Range {  // unsigned, both ends included
  uint64_t low = 0;
  uint64_t high = ~0ull;

  bool single() const { return low == high; }
  bool operator==(const Range&) const = default;
};

constexpr Range kAny32{0, 0xffffffff};
constexpr Range kAny64{0, ~0ull};

inline Range Hull(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

// Arithmetic of `bits` bits; anything if it might wrap around, unless all values do.
inline Range AnyOf(unsigned bits) { return bits == 64 ? kAny64 : kAny32; }
inline Range Add(Range a, Range b, unsigned bits) {
  const unsigned __int128 top = (static_cast<unsigned __int128>(1) << bits) - 1;
  const unsigned __int128 low = static_cast<unsigned __int128>(a.low) + b.low;
  const unsigned __int128 high = static_cast<unsigned __int128>(a.high) + b.high;
  if (high <= top) return {static_cast<uint64_t>(low), static_cast<uint64_t>(high)};
  if (low > top)
    return {static_cast<uint64_t>(low - top - 1), static_cast<uint64_t>(high - top - 1)};
  return AnyOf(bits);
}
inline Range Subtract(Range a, Range b, unsigned bits) {
  if (a.low >= b.high) return {a.low - b.high, a.high - b.low};
  if (a.single() && b.single()) {
    const uint64_t value = a.low - b.low;
    return {bits == 64 ? value : value & 0xffffffff, bits == 64 ? value : value & 0xffffffff};
  }
  return AnyOf(bits);
}
inline Range Multiply(Range a, Range b, unsigned bits) {
  const unsigned __int128 top = (static_cast<unsigned __int128>(1) << bits) - 1;
  const unsigned __int128 high = static_cast<unsigned __int128>(a.high) * b.high;
  if (high <= top) return {a.low * b.low, static_cast<uint64_t>(high)};
  if (a.single() && b.single()) {
    const uint64_t value = bits == 64 ? a.low * b.low : (a.low * b.low) & 0xffffffff;
    return {value, value};
  }
  return AnyOf(bits);
}
inline Range ShiftLeft(Range a, Range by, unsigned bits) {
  if (!by.single() || by.low >= bits) return AnyOf(bits);
  return Multiply(a, {1ull << by.low, 1ull << by.low}, bits);
}
inline Range ShiftRight(Range a, Range by, unsigned bits) {
  if (!by.single() || by.low >= bits) return AnyOf(bits);
  return {a.low >> by.low, a.high >> by.low};
}
inline uint64_t Mask(uint64_t value) {  // all bits up to its highest
  for (unsigned shift = 1; shift < 64; shift *= 2) value |= value >> shift;
  return value;
}
inline Range And(Range a, Range b) {
  if (a.single() && b.single()) return {a.low & b.low, a.low & b.low};
  // A mask of low bits changes nothing that fits.
  if (b.single() && Mask(b.low) == b.low && a.high <= b.low) return a;
  if (a.single() && Mask(a.low) == a.low && b.high <= a.low) return b;
  return {0, std::min(a.high, b.high)};
}
inline Range Or(Range a, Range b) {
  if (a.single() && b.single()) return {a.low | b.low, a.low | b.low};
  return {std::max(a.low, b.low), Mask(a.high | b.high)};
}

struct Value {
  Range range = kAny32;
  uint64_t origins = 0;
  int wide = -1;        // number of a 64-bit range; -1: none
  bool upper = false;   // this is its upper half
  bool packed = false;  // work-item numbers as the GPU hands them over: z, y, x, ten bits each

  bool operator==(const Value&) const = default;
};

struct Wide {
  Range range = kAny64;
  uint64_t origins = 0;
};

// Register numbers: scalars from 0, vectors from kVector.
constexpr int kVcc = 106;
constexpr int kExec = 126;
constexpr int kScc = 253;
constexpr int kVector = 256;
constexpr int kRegisters = 512;

using Registers = std::vector<Value>;

// A comparison whose result is a mask of lanes: in those, the register is in the range.
struct Condition {
  int reg = -1;
  bool wide = false;
  Range range;
  bool operator==(const Condition&) const = default;
};

struct State {
  Registers registers = Registers(kRegisters);
  bool no_lanes = false;  // exec is zero
  // The operands of the last addition of lower halves, for the carry.
  Value carry_a, carry_b;
  int carry_low = -1;                   // and where its result is
  std::map<int, Condition> conditions;  // by the mask's register
  // As they were when exec was saved in a register: joined again when it is restored.
  std::map<int, std::shared_ptr<const Registers>> saved;
};

}  // namespace rochound::doctor
