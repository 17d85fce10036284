// SPDX-License-Identifier: MIT
//
// What the atomic instructions of all memory families compute: new = F(old, data, compare), as
// lambdas for template arguments. Integers and floats alike are seen as their bits. F may run
// several times for one instruction and must not have effects.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "softgpu/isa/lane_types.h"

namespace rochound::softgpu::atomic_ops {

template <typename T>
using Signed = std::make_signed_t<T>;
template <typename T>
using Real = std::conditional_t<sizeof(T) == 8, double, float>;

template <typename T>
Real<T> AsReal(T bits) {
  return std::bit_cast<Real<T>>(bits);
}

template <typename T>
struct Swap {
  T operator()(T, T data, T) const { return data; }
  static T Direct(T* place, T data, T) {
    return __atomic_exchange_n(place, data, __ATOMIC_SEQ_CST);
  }
};
template <typename T>
struct CompareSwap {
  T operator()(T old, T data, T compare) const { return old == compare ? data : old; }
  static T Direct(T* place, T data, T compare) {
    __atomic_compare_exchange_n(place, &compare, data, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return compare;
  }
};
template <typename T>
struct Add {
  T operator()(T old, T data, T) const { return old + data; }
  static T Direct(T* place, T data, T) { return __atomic_fetch_add(place, data, __ATOMIC_SEQ_CST); }
};
template <typename T>
struct Sub {
  T operator()(T old, T data, T) const { return old - data; }
  static T Direct(T* place, T data, T) { return __atomic_fetch_sub(place, data, __ATOMIC_SEQ_CST); }
};
template <typename T>
inline constexpr Swap<T> kSwap{};
template <typename T>
inline constexpr CompareSwap<T> kCompareSwap{};
template <typename T>
inline constexpr Add<T> kAdd{};
template <typename T>
inline constexpr Sub<T> kSub{};

template <typename T>
inline constexpr auto kReverseSub = [](T old, T data, T) -> T { return data - old; };
// Stops at zero.
template <typename T>
inline constexpr auto kClampSub = [](T old, T data, T) -> T { return old < data ? 0 : old - data; };
// Only if it does not fall below zero.
template <typename T>
inline constexpr auto kConditionalSub =
    [](T old, T data, T) -> T { return old >= data ? old - data : old; };
template <typename T>
inline constexpr auto kMinSigned = [](T old, T data, T) -> T {
  return static_cast<Signed<T>>(data) < static_cast<Signed<T>>(old) ? data : old;
};
template <typename T>
inline constexpr auto kMaxSigned = [](T old, T data, T) -> T {
  return static_cast<Signed<T>>(data) >= static_cast<Signed<T>>(old) ? data : old;
};
template <typename T>
inline constexpr auto kMin = [](T old, T data, T) -> T { return data < old ? data : old; };
template <typename T>
inline constexpr auto kMax = [](T old, T data, T) -> T { return data >= old ? data : old; };
template <typename T>
inline constexpr auto kAnd = [](T old, T data, T) -> T { return old & data; };
template <typename T>
inline constexpr auto kOr = [](T old, T data, T) -> T { return old | data; };
template <typename T>
inline constexpr auto kXor = [](T old, T data, T) -> T { return old ^ data; };
template <typename T>
inline constexpr auto kIncrement = [](T old, T data, T) -> T { return old >= data ? 0 : old + 1; };
template <typename T>
inline constexpr auto kDecrement =
    [](T old, T data, T) -> T { return old == 0 || old > data ? data : old - 1; };
// LDS only: data is the mask of bits to clear or the limit; the second data operand comes as
// `compare`.
template <typename T>
inline constexpr auto kMaskOr = [](T old, T data, T second) -> T { return (old & ~data) | second; };
template <typename T>
inline constexpr auto kWrap =
    [](T old, T data, T second) -> T { return old >= data ? old - data : old + second; };

template <typename T>
inline constexpr auto kAddReal =
    [](T old, T data, T) -> T { return std::bit_cast<T>(AsReal(old) + AsReal(data)); };
// A NaN in memory stays; a NaN as data changes nothing.
template <typename T>
inline constexpr auto kMinReal =
    [](T old, T data, T) -> T { return AsReal(data) < AsReal(old) ? data : old; };
template <typename T>
inline constexpr auto kMaxReal =
    [](T old, T data, T) -> T { return AsReal(data) > AsReal(old) ? data : old; };
template <typename T>
inline constexpr auto kCompareSwapReal =
    [](T old, T data, T compare) -> T { return AsReal(old) == AsReal(compare) ? data : old; };
// Sums of two halves are rounded to float first, which does not change the final rounding.
inline constexpr auto kAddTwoHalves = [](uint32_t old, uint32_t data, uint32_t) -> uint32_t {
  uint32_t low = FloatToHalf(HalfToFloat(old) + HalfToFloat(data));
  uint32_t high = FloatToHalf(HalfToFloat(old >> 16) + HalfToFloat(data >> 16));
  return low | high << 16;
};
inline constexpr auto kAddTwoBrains = [](uint32_t old, uint32_t data, uint32_t) -> uint32_t {
  uint32_t low = FloatToBrain(BrainToFloat(old & 0xFFFF) + BrainToFloat(data & 0xFFFF));
  uint32_t high = FloatToBrain(BrainToFloat(old >> 16) + BrainToFloat(data >> 16));
  return low | high << 16;
};

}  // namespace rochound::softgpu::atomic_ops
