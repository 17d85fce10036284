// SPDX-License-Identifier: MIT
//
// Arithmetic of random kernels, the same C++ for host and device, with a defined result for all
// operands: shifts are masked, overflow wraps, division by zero gives something, conversions clamp,
// a NaN becomes the one NaN before its bits are looked at. Everything here is a pure function.
// Where the device has an instruction that C++ cannot say, the host has its formula.
#pragma once

#include <type_traits>

#include "lanes.h"

namespace arithmetic {

using lanes::OfBits;
using lanes::ToBits;
using f16 = _Float16;
using f32 = float;
using f64 = double;
using i8 = int8_t;
using u8 = uint8_t;
using i16 = int16_t;
using u16 = uint16_t;
using i32 = int32_t;
using u32 = uint32_t;
using i64 = int64_t;
using u64 = uint64_t;

template <typename T>
constexpr int kWidth = sizeof(T) * 8;
template <typename T>
using Unsigned = std::make_unsigned_t<T>;
// Wide enough that C++ does not turn it into a signed int.
template <typename T>
using Wide = std::conditional_t<sizeof(T) == 8, u64, u32>;
template <typename T>
constexpr bool kReal = std::is_same_v<T, f16> || std::is_same_v<T, f32> || std::is_same_v<T, f64>;

// --- integers
#define INTEGER         \
  template <typename T> \
  HD T
INTEGER Add(T a, T b) {
  if constexpr (kReal<T>)
    return a + b;
  else
    return T(Wide<T>(a) + Wide<T>(b));
}
INTEGER Sub(T a, T b) {
  if constexpr (kReal<T>)
    return a - b;
  else
    return T(Wide<T>(a) - Wide<T>(b));
}
INTEGER Mul(T a, T b) {
  if constexpr (kReal<T>)
    return a * b;
  else
    return T(Wide<T>(a) * Wide<T>(b));
}
INTEGER And(T a, T b) { return a & b; }
INTEGER Or(T a, T b) { return a | b; }
INTEGER Xor(T a, T b) { return a ^ b; }
INTEGER AndNot(T a, T b) { return a & ~b; }
INTEGER Shl(T a, T b) { return T(Wide<T>(a) << (b & (kWidth<T> - 1))); }
INTEGER Shr(T a, T b) { return T(a >> (b & (kWidth<T> - 1))); }
INTEGER Rotate(T a, T b) {
  const Unsigned<T> u = a;
  const int n = b & (kWidth<T> - 1);
  return T(Unsigned<T>(Wide<T>(u) << n) |
           Unsigned<T>(Wide<T>(u) >> ((kWidth<T> - n) & (kWidth<T> - 1))));
}
INTEGER Min(T a, T b) { return a < b ? a : b; }
INTEGER Max(T a, T b) { return a > b ? a : b; }
INTEGER Neg(T a) {
  if constexpr (kReal<T>)
    return -a;
  else
    return T(0 - Wide<T>(a));
}
INTEGER Not(T a) { return ~a; }
INTEGER Abs(T a) {
  if constexpr (std::is_same_v<T, f64>)
    return __builtin_fabs(a);
  else if constexpr (kReal<T>)
    return T(__builtin_fabsf(a));
  else
    return a < 0 ? Neg(a) : a;
}
INTEGER Div(T a, T b) {
  if (b == 0) return T(~T(0));
  if (std::is_signed_v<T> && b == T(-1)) return Neg(a);
  return a / b;
}
INTEGER Rem(T a, T b) {
  if (b == 0) return a;
  if (std::is_signed_v<T> && b == T(-1)) return 0;
  return a % b;
}
INTEGER MulHigh(T a, T b) {
  if constexpr (sizeof(T) == 8) {
    using Twice = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return T(Twice(a) * Twice(b) >> 64);
  } else {
    using Twice = std::conditional_t<std::is_signed_v<T>, i64, u64>;
    return T(Twice(a) * Twice(b) >> kWidth<T>);
  }
}
INTEGER AddSaturated(T a, T b) { return __builtin_elementwise_add_sat(a, b); }
INTEGER SubSaturated(T a, T b) { return __builtin_elementwise_sub_sat(a, b); }
INTEGER CountOnes(T a) { return T(__builtin_popcountll(u64(Unsigned<T>(a)))); }
INTEGER LeadingZeros(T a) {
  const Unsigned<T> u = a;
  if (u == 0) return kWidth<T>;
  if constexpr (sizeof(T) == 8)
    return T(__builtin_clzll(u));
  else
    return T(__builtin_clz(u) - (32 - kWidth<T>));
}
INTEGER TrailingZeros(T a) {
  const Unsigned<T> u = a;
  if (u == 0) return kWidth<T>;
  if constexpr (sizeof(T) == 8)
    return T(__builtin_ctzll(u));
  else
    return T(__builtin_ctz(u));
}
INTEGER ReverseBits(T a) {
  if constexpr (sizeof(T) == 8)
    return T(__builtin_bitreverse64(a));
  else if constexpr (sizeof(T) == 4)
    return T(__builtin_bitreverse32(a));
  else if constexpr (sizeof(T) == 2)
    return T(__builtin_bitreverse16(a));
  else
    return T(__builtin_bitreverse8(a));
}
INTEGER ReverseBytes(T a) {
  if constexpr (sizeof(T) == 8)
    return T(__builtin_bswap64(a));
  else if constexpr (sizeof(T) == 4)
    return T(__builtin_bswap32(a));
  else if constexpr (sizeof(T) == 2)
    return T(__builtin_bswap16(a));
  else
    return a;
}
INTEGER MulAdd(T a, T b, T c) { return Add(Mul(a, b), c); }
INTEGER Pick(bool which, T a, T b) { return which ? a : b; }
INTEGER Field(T a, T offset, T length) {
  const int n = length & (kWidth<T> - 1), from = offset & (kWidth<T> - 1);
  return T((Unsigned<T>(a) >> from) & ((Wide<T>(1) << n) - 1));
}
INTEGER Insert(T mask, T a, T b) { return (mask & a) | (~mask & b); }
INTEGER ShiftAdd(T a, T b, T c) { return Add(Shl(a, b), c); }
INTEGER Xor3(T a, T b, T c) { return a ^ b ^ c; }
INTEGER Median(T a, T b, T c) { return Max(Min(a, b), Min(Max(a, b), c)); }
INTEGER Funnel(T a, T b, T c) {
  const int n = c & (kWidth<T> - 1);
  return n == 0 ? b
                : T((Wide<T>(Unsigned<T>(b)) >> n) | (Wide<T>(Unsigned<T>(a)) << (kWidth<T> - n)));
}

// --- the device's own integer instructions
HD u32 Permute(u32 a, u32 b, u32 selector) {
#if ON_DEVICE
  return __builtin_amdgcn_perm(a, b, selector & 0x0f0f0f0f);
#else
  u32 result = 0;
  const u64 bytes = u64{a} << 32 | b;
  for (int i = 0; i < 4; ++i) {
    const u32 s = selector >> (8 * i) & 15;
    u32 byte = s < 8 ? bytes >> (8 * s) & 255 : 0;
    if (s >= 8 && s < 12) byte = bytes >> (16 * (s - 8) + 15) & 1 ? 255 : 0;
    if (s > 12) byte = 255;
    result |= byte << (8 * i);
  }
  return result;
#endif
}
HD u32 SumOfDifferences(u32 a, u32 b, u32 c) {
#if ON_DEVICE
  return __builtin_amdgcn_sad_u8(a, b, c);
#else
  for (int i = 0; i < 32; i += 8) c += __builtin_abs(int(a >> i & 255) - int(b >> i & 255));
  return c;
#endif
}
HD u32 AlignByte(u32 a, u32 b, u32 c) {
#if ON_DEVICE
  return __builtin_amdgcn_alignbyte(a, b, c);
#else
  return u32((u64{a} << 32 | b) >> (8 * (c & 3)));
#endif
}
HD u32 UnsignedField(u32 a, u32 offset, u32 length) {
#if ON_DEVICE
  return __builtin_amdgcn_ubfe(a, offset & 31, length & 31);
#else
  return u32((a >> (offset & 31)) & ((u64{1} << (length & 31)) - 1));
#endif
}
HD u32 SignedField(u32 a, u32 offset, u32 length) {
  offset &= 31;
  length &= 31;
#if ON_DEVICE
  return __builtin_amdgcn_sbfe(a, offset, length);
#else
  if (length == 0) return 0;
  const i32 moved = i32(a) >> offset;
  return length + offset >= 32 ? u32(moved)
                               : u32(i32(u32(moved) << (32 - length)) >> (32 - length));
#endif
}
HD u32 Mul24(u32 a, u32 b) { return Mul<u32>(a & 0xffffff, b & 0xffffff); }
HD u32 MulSigned24(u32 a, u32 b) { return u32(i64(i32(a << 8) >> 8) * (i32(b << 8) >> 8)); }

// --- two halves of a register
using U16x2 = u16 __attribute__((ext_vector_type(2)));
using I16x2 = i16 __attribute__((ext_vector_type(2)));
using F16x2 = f16 __attribute__((ext_vector_type(2)));
using F32x2 = f32 __attribute__((ext_vector_type(2)));
#define PAIR(name, V, expression)                                                \
  HD u32 name(u32 first, u32 second) {                                           \
    const V a = __builtin_bit_cast(V, first), b = __builtin_bit_cast(V, second); \
    return __builtin_bit_cast(u32, V(expression));                               \
  }
PAIR(PairAdd, U16x2, a + b)
PAIR(PairSub, U16x2, a - b)
PAIR(PairMul, U16x2, a* b)
PAIR(PairShl, U16x2, a << (b & u16(15)))
PAIR(PairShr, U16x2, a >> (b & u16(15)))
PAIR(PairShrSigned, I16x2, a >> (b & i16(15)))
PAIR(PairMin, U16x2, __builtin_elementwise_min(a, b))
PAIR(PairMax, I16x2, __builtin_elementwise_max(a, b))
PAIR(PairAddSaturated, U16x2, __builtin_elementwise_add_sat(a, b))
PAIR(PairSubSaturated, I16x2, __builtin_elementwise_sub_sat(a, b))

// --- real numbers
INTEGER One(T a) {  // the one NaN
  constexpr u64 kNan = sizeof(T) == 8   ? 0x7ff8000000000000ull
                       : sizeof(T) == 4 ? 0x7fc00000
                                        : 0x7e00;
  return a != a ? OfBits<T>(kNan) : a;
}
INTEGER Divide(T a, T b) {
  if constexpr (std::is_same_v<T, f16>)
    return f16(f32(a) / f32(b));
  else
    return a / b;
}
INTEGER Sqrt(T a) {
  using Real = std::conditional_t<std::is_same_v<T, f64>, f64, f32>;
  Real root;
  if constexpr (std::is_same_v<T, f64>)
    root = __builtin_sqrt(a);
  else
    root = __builtin_sqrtf(a);
#if ON_DEVICE
  // Else the compiler takes the test for NaN of One() for one of a < 0, and then leaves it out.
  asm("" : "+v"(root));
#endif
  return T(root);
}
HD f16 FmaHalf(f16 a, f16 b, f16 c) {
#if ON_DEVICE
  return __builtin_fmaf16(a, b, c);
#else
  // The product is exact; the sum is rounded to odd, which no second rounding spoils.
  const f64 product = f64(a) * f64(b), sum = product + f64(c);
  const f64 part = sum - product, rest = (product - (sum - part)) + (f64(c) - part);
  u64 bits = ToBits(sum);
  if (rest == rest && rest != 0 && !(bits & 1)) bits += (rest > 0) == (sum > 0) ? 1 : -1;
  return f16(OfBits<f64>(bits));
#endif
}
INTEGER Fma(T a, T b, T c) {
  if constexpr (std::is_same_v<T, f64>)
    return __builtin_fma(a, b, c);
  else if constexpr (std::is_same_v<T, f32>)
    return __builtin_fmaf(a, b, c);
  else
    return FmaHalf(a, b, c);
}
// Which zero is the smaller one is nobody's promise, so zeros lose their sign.
INTEGER Smaller(T a, T b) {
  if constexpr (std::is_same_v<T, f64>)
    return __builtin_fmin(One(a), One(b)) + T(0);
  else
    return T(T(__builtin_fminf(One(a), One(b))) + T(0));
}
INTEGER Larger(T a, T b) {
  if constexpr (std::is_same_v<T, f64>)
    return __builtin_fmax(One(a), One(b)) + T(0);
  else
    return T(T(__builtin_fmaxf(One(a), One(b))) + T(0));
}
#define ROUNDING(name, function)            \
  INTEGER name(T a) {                       \
    if constexpr (std::is_same_v<T, f64>)   \
      return __builtin_##function(a);       \
    else                                    \
      return T(__builtin_##function##f(a)); \
  }
ROUNDING(Floor, floor)
ROUNDING(Ceil, ceil)
ROUNDING(Truncate, trunc)
ROUNDING(Nearest, rint)
INTEGER CopySign(T a, T b) {
  if constexpr (std::is_same_v<T, f64>)
    return __builtin_copysign(a, One(b));
  else
    return T(__builtin_copysignf(a, One(b)));
}
INTEGER Scale(T a, i32 power) {
  const int n = power % 300;
  if constexpr (std::is_same_v<T, f64>)
    return __builtin_ldexp(a, n * 4);
  else
    return T(__builtin_ldexpf(a, n));
}
HD u64 PairAddSingle(u64 first, u64 second) {
  const F32x2 sum = __builtin_bit_cast(F32x2, first) + __builtin_bit_cast(F32x2, second);
  return ToBits(One(f32(sum.x))) | ToBits(One(f32(sum.y))) << 32;
}
HD u64 PairMulSingle(u64 first, u64 second) {
  const F32x2 product = __builtin_bit_cast(F32x2, first) * __builtin_bit_cast(F32x2, second);
  return ToBits(One(f32(product.x))) | ToBits(One(f32(product.y))) << 32;
}
HD u32 PairAddHalf(u32 first, u32 second) {
  const F16x2 sum = __builtin_bit_cast(F16x2, first) + __builtin_bit_cast(F16x2, second);
  return u32(ToBits(One(f16(sum.x))) | ToBits(One(f16(sum.y))) << 16);
}
HD u32 PairMulHalf(u32 first, u32 second) {
  const F16x2 product = __builtin_bit_cast(F16x2, first) * __builtin_bit_cast(F16x2, second);
  return u32(ToBits(One(f16(product.x))) | ToBits(One(f16(product.y))) << 16);
}
HD f32 Brain(f32 a) {  // to bfloat16 and back
  const u32 bits = u32(ToBits(One(a)));
  const u32 rounded = a != a ? bits : bits + 0x7fff + (bits >> 16 & 1);
  return OfBits<f32>(rounded & 0xffff0000);
}

// --- between types
template <typename To, typename From>
HD To Convert(From a) {
  if constexpr (kReal<From> && !kReal<To>) {
    // Up to what From can hold exactly on the safe side of To's limits.
    constexpr int bits = kWidth<To> - std::is_signed_v<To>;
    if constexpr (std::is_same_v<From, f16>) {
      return Convert<To>(f32(a));
    } else {
      constexpr From kHigh =
          From(bits == 64 ? 18446744073709551616.0 : double(u64{1} << (bits & 63)));
      constexpr From kLow = std::is_signed_v<To> ? -kHigh : From(0);
      if (!(a > kLow)) return To(std::is_signed_v<To> ? Wide<To>(1) << (kWidth<To> - 1) : 0);
      if (a >= kHigh) return To(Unsigned<To>(~Unsigned<To>(0)) >> std::is_signed_v<To>);
      return To(a);
    }
  } else if constexpr (std::is_same_v<To, f16> && !kReal<From>) {
    return f16(f32(a));
  } else {
    return To(a);
  }
}
template <typename To, typename From>
HD To Bits(From a) {
  if constexpr (kReal<From>)
    return OfBits<To>(ToBits(One(a)));
  else
    return One(OfBits<To>(ToBits(a)));
}
template <typename T>
HD u64 Result(T a) {
  if constexpr (kReal<T>)
    return ToBits(One(a));
  else
    return ToBits(a);
}

// --- memory
template <typename T>
HD T Load(const void* at) {  // any alignment
  struct __attribute__((packed)) Any {
    T value;
  };
  T value = static_cast<const Any*>(at)->value;
  if constexpr (kReal<T>) value = One(value);
  return value;
}
template <typename T>
HD T LoadAligned(const void* at) {
  T value = *static_cast<const T*>(at);
  if constexpr (kReal<T>) value = One(value);
  return value;
}
template <typename T>
HD void Store(void* at, T value) {
  struct __attribute__((packed)) Any {
    T value;
  };
  if constexpr (kReal<T>) value = One(value);
  static_cast<Any*>(at)->value = value;
}
template <typename T>
HD void StoreAligned(void* at, T value) {
  if constexpr (kReal<T>) value = One(value);
  *static_cast<T*>(at) = value;
}
template <typename T, int kCount>
struct Several {
  T of[kCount];
};
template <typename T, int kCount>
using Vector = T __attribute__((ext_vector_type(kCount)));
// The elements of a vector (kAligned: as the vector type wants it) or of a packed structure, folded
// into one number.
template <typename T, int kCount, bool kAligned>
HD u64 LoadVector(const void* at) {
  u64 sum = 0;
  if constexpr (kAligned) {
    const Vector<T, kCount> all = *static_cast<const Vector<T, kCount>*>(at);
    for (int i = 0; i < kCount; ++i) {
      T one = all[i];
      sum = sum * 5 + Result(one);
    }
  } else {
    struct __attribute__((packed)) Any {
      Several<T, kCount> value;
    };
    const Several<T, kCount> all = static_cast<const Any*>(at)->value;
    for (int i = 0; i < kCount; ++i) sum = sum * 5 + Result(all.of[i]);
  }
  return sum;
}
template <typename T, int kCount, bool kAligned>
HD void StoreVector(void* at, T first, T second) {
  if constexpr (kReal<T>) first = One(first), second = One(second);
  if constexpr (kAligned) {
    Vector<T, kCount> all;
    for (int i = 0; i < kCount; ++i) all[i] = i & 1 ? second : first;
    if constexpr (kCount == 3) {  // its fourth place in memory is nobody's
      for (int i = 0; i < kCount; ++i) static_cast<T*>(at)[i] = all[i];
    } else {
      *static_cast<Vector<T, kCount>*>(at) = all;
    }
  } else {
    struct __attribute__((packed)) Any {
      Several<T, kCount> value;
    };
    Several<T, kCount> all;
    for (int i = 0; i < kCount; ++i) all.of[i] = i & 1 ? second : first;
    static_cast<Any*>(at)->value = all;
  }
}
// One of some functions.
template <typename Function, typename... Others>
HD Function Choose(u32 which, Function first, Others... others) {
  const Function all[] = {first, others...};
  return all[which % (1 + sizeof...(Others))];
}
// A pointer whose address space nobody knows.
template <typename T>
HD_CALL T LoadAnywhere(const void* at) {
  return Load<T>(at);
}
template <typename T>
HD_CALL void StoreAnywhere(void* at, T value) {
  Store<T>(at, value);
}
template <typename T>
HD_CALL void Turn(T* values, u32 count, u32 by) {  // a rotation, one step at a time
  for (u32 step = 0; step < by; ++step) {
    const T first = values[0];
    for (u32 i = 0; i + 1 < count; ++i) values[i] = values[i + 1];
    values[count - 1] = first;
  }
}

}  // namespace arithmetic
