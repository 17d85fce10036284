// SPDX-License-Identifier: MIT
//
// How each operand type is stored in a register row and which C++ value a lane function sees.
// 16-bit floats are seen as float (exact); a float result is rounded to nearest even when stored.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "softgpu/isa/op.h"

namespace rochound::softgpu {

inline float HalfToFloat(uint32_t bits) {
  return static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)));
}
inline uint32_t FloatToHalf(float value) {
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}
inline float BrainToFloat(uint32_t bits) { return std::bit_cast<float>(bits << 16); }
inline uint32_t FloatToBrain(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return (bits >> 16) | 0x40;
  return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
}

template <Ty T>
struct Lane;

template <typename StorageType, typename ValueType>
struct PlainLane {
  using Storage = StorageType;
  using Value = ValueType;
  static Value Get(Storage s) {
    if constexpr (sizeof(Storage) == sizeof(Value)) {
      return std::bit_cast<Value>(s);
    } else {
      return static_cast<Value>(s);  // the low half
    }
  }
  static Storage Put(Value v) {
    if constexpr (sizeof(Storage) == sizeof(Value)) {
      return std::bit_cast<Storage>(v);
    } else {
      return static_cast<uint16_t>(v);
    }
  }
};

template <>
struct Lane<Ty::kB32> : PlainLane<uint32_t, uint32_t> {};
template <>
struct Lane<Ty::kU32> : PlainLane<uint32_t, uint32_t> {};
template <>
struct Lane<Ty::kI32> : PlainLane<uint32_t, int32_t> {};
template <>
struct Lane<Ty::kF32> : PlainLane<uint32_t, float> {};
template <>
struct Lane<Ty::kB64> : PlainLane<uint64_t, uint64_t> {};
template <>
struct Lane<Ty::kU64> : PlainLane<uint64_t, uint64_t> {};
template <>
struct Lane<Ty::kI64> : PlainLane<uint64_t, int64_t> {};
template <>
struct Lane<Ty::kF64> : PlainLane<uint64_t, double> {};
template <>
struct Lane<Ty::kV2F32> : PlainLane<uint64_t, uint64_t> {};
template <>
struct Lane<Ty::kV2B32> : PlainLane<uint64_t, uint64_t> {};
template <>
struct Lane<Ty::kB16> : PlainLane<uint32_t, uint16_t> {};
template <>
struct Lane<Ty::kU16> : PlainLane<uint32_t, uint16_t> {};
template <>
struct Lane<Ty::kI16> : PlainLane<uint32_t, int16_t> {};
template <>
struct Lane<Ty::kV2I16> : PlainLane<uint32_t, uint32_t> {};
template <>
struct Lane<Ty::kV2F16> : PlainLane<uint32_t, uint32_t> {};
template <>
struct Lane<Ty::kF16> {
  using Storage = uint32_t;
  using Value = float;
  static Value Get(Storage s) { return HalfToFloat(s); }
  static Storage Put(Value v) { return FloatToHalf(v); }
};
template <>
struct Lane<Ty::kBF16> {
  using Storage = uint32_t;
  using Value = float;
  static Value Get(Storage s) { return BrainToFloat(s); }
  static Storage Put(Value v) { return FloatToBrain(v); }
};

}  // namespace rochound::softgpu
