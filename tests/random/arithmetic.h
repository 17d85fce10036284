// SPDX-License-Identifier: MIT
//
// Arithmetic of random kernels, the same C++ for host and device, with a defined result for all
// operands: shifts are masked, overflow wraps, division by zero gives something, conversions clamp,
// a NaN becomes the one NaN before its bits are looked at. Everything here is a pure function.
// Where the device has an instruction that C++ cannot say, the host has its formula.
#pragma once

#include "base.h"

namespace arithmetic {

using namespace base;

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
// 64 bits by halves: at -O0 for gfx1100, clang 22 hands only half of a register to the v_perm_b32
// that it makes of __builtin_bswap64.
INTEGER ReverseBytes(T a) {
  if constexpr (sizeof(T) == 8)
    return T(u64(__builtin_bswap32(u32(u64(a)))) << 32 | __builtin_bswap32(u32(u64(a) >> 32)));
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

HD u32 Lerp(u32 a, u32 b, u32 c) {
#if ON_DEVICE
  return __builtin_amdgcn_lerp(a, b, c);
#else
  u32 result = 0;
  for (int i = 0; i < 32; i += 8) {
    result |= ((a >> i & 255) + (b >> i & 255) + (c >> i & 1)) >> 1 << i;
  }
  return result;
#endif
}
HD u32 SumOfDifferences16(u32 a, u32 b, u32 c) {
#if ON_DEVICE
  return __builtin_amdgcn_sad_u16(a, b, c);
#else
  for (int i = 0; i < 32; i += 16) c += __builtin_abs(int(a >> i & 65535) - int(b >> i & 65535));
  return c;
#endif
}
HD u32 SumOfDifferencesHigh(u32 a, u32 b, u32 c) {
#if ON_DEVICE
  return __builtin_amdgcn_sad_hi_u8(a, b, c);
#else
  return (SumOfDifferences(a, b, 0) << 16) + c;
#endif
}
HD u32 MaskedDifferences(u32 a, u32 b, u32 c) {
#if ON_DEVICE
  return __builtin_amdgcn_msad_u8(a, b, c);
#else
  for (int i = 0; i < 32; i += 8) {
    if (b >> i & 255) c += __builtin_abs(int(a >> i & 255) - int(b >> i & 255));
  }
  return c;
#endif
}
HD u64 Sum128High(u64 a_low, u64 a_high, u64 b_low) {  // add with carry, four words of it
  const unsigned __int128 a = (unsigned __int128)a_high << 64 | a_low,
                          b = (unsigned __int128)a_low << 64 | b_low;
  return u64((a + b) >> 64);
}
HD u64 Difference128High(u64 a_low, u64 a_high, u64 b_low) {
  const unsigned __int128 a = (unsigned __int128)a_high << 64 | a_low,
                          b = (unsigned __int128)a_low << 64 | b_low;
  return u64((a - b) >> 64);
}
template <typename T>
HD bool AddOverflows(T a, T b) {
  T sum;
  return __builtin_add_overflow(a, b, &sum);
}
template <typename T>
HD bool SubOverflows(T a, T b) {
  T difference;
  return __builtin_sub_overflow(a, b, &difference);
}
template <int kByte>
HD f32 RealOfByte(u32 a) {
  return f32(u8(a >> (8 * kByte)));
}

// --- sums of products of small numbers; kKind: 0 unsigned, 1 signed, 2 signed by unsigned
template <int kBits, int kKind>
HD u32 DotFormula(u32 a, u32 b, u32 c, bool clamp) {
  i64 sum = kKind ? i64(i32(c)) : i64(c);
  for (int i = 0; i < 32; i += kBits) {
    const u32 x = a << (32 - kBits - i), y = b << (32 - kBits - i);
    const i64 left = kKind ? i64(i32(x) >> (32 - kBits)) : i64(x >> (32 - kBits));
    const i64 right = kKind == 1 ? i64(i32(y) >> (32 - kBits)) : i64(y >> (32 - kBits));
    sum += left * right;
  }
  if (clamp) {
    const i64 low = kKind ? -(i64{1} << 31) : 0, high = kKind ? (i64{1} << 31) - 1 : 0xffffffffll;
    sum = sum < low ? low : sum > high ? high : sum;
  }
  return u32(sum);
}
template <int kBits, int kKind, bool kClamp>
HD u32 Dot(u32 a, u32 b, u32 c) {
#if ON_DEVICE
#if defined(__GFX9__) || defined(__GFX10__)
  if constexpr (kBits == 16 && kKind == 0)
    return __builtin_amdgcn_udot2(__builtin_bit_cast(U16x2, a), __builtin_bit_cast(U16x2, b), c,
                                  kClamp);
  if constexpr (kBits == 16 && kKind == 1)
    return __builtin_amdgcn_sdot2(__builtin_bit_cast(I16x2, a), __builtin_bit_cast(I16x2, b), c,
                                  kClamp);
  if constexpr (kBits == 8 && kKind == 1) return __builtin_amdgcn_sdot4(a, b, c, kClamp);
  if constexpr (kBits == 4 && kKind == 1) return __builtin_amdgcn_sdot8(a, b, c, kClamp);
#else
  if constexpr (kBits == 8 && kKind > 0)
    return __builtin_amdgcn_sudot4(true, a, kKind == 1, b, c, kClamp);
  if constexpr (kBits == 4 && kKind > 0)
    return __builtin_amdgcn_sudot8(true, a, kKind == 1, b, c, kClamp);
#endif
  if constexpr (kBits == 8 && kKind == 0) return __builtin_amdgcn_udot4(a, b, c, kClamp);
  if constexpr (kBits == 4 && kKind == 0) return __builtin_amdgcn_udot8(a, b, c, kClamp);
#endif
  return DotFormula<kBits, kKind>(a, b, c, kClamp);
}

// --- two halves of a register
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
// Bits that integer arithmetic left, about to be floats. clang 22 reads a short or a byte of them
// by SDWA and forgets that it was sign-extended, unless it cannot see where they come from.
HD u64 Unseen(u64 bits) {
#if ON_DEVICE
  u32 low = u32(bits), high = u32(bits >> 32);
  asm("" : "+v"(low));
  asm("" : "+v"(high));
  return low | u64{high} << 32;
#else
  return bits;
#endif
}
INTEGER Scale(T a, i32 power) {
  const int n = power % 300;
  if constexpr (std::is_same_v<T, f64>)
    return __builtin_ldexp(a, n * 4);
  else if constexpr (std::is_same_v<T, f32>)
    return __builtin_ldexpf(a, n);
  // By way of its bits: clang 22 makes one fma_mix of a product that is rounded to half, adds +0,
  // and loses the sign of -0.
  return T(OfBits<f32>(Unseen(ToBits(__builtin_ldexpf(f32(a), n)))));
}
template <typename To, typename From>
HD To Floats(From bits) {
  return __builtin_bit_cast(To, From(Unseen(bits)));
}
HD u64 PairAddSingle(u64 first, u64 second) {
  const F32x2 sum = Floats<F32x2>(first) + Floats<F32x2>(second);
  return ToBits(One(f32(sum.x))) | ToBits(One(f32(sum.y))) << 32;
}
HD u64 PairMulSingle(u64 first, u64 second) {
  const F32x2 product = Floats<F32x2>(first) * Floats<F32x2>(second);
  return ToBits(One(f32(product.x))) | ToBits(One(f32(product.y))) << 32;
}
HD u32 PairAddHalf(u32 first, u32 second) {
  const F16x2 sum = Floats<F16x2>(first) + Floats<F16x2>(second);
  return u32(ToBits(One(f16(sum.x))) | ToBits(One(f16(sum.y))) << 16);
}
HD u32 PairMulHalf(u32 first, u32 second) {
  const F16x2 product = Floats<F16x2>(first) * Floats<F16x2>(second);
  return u32(ToBits(One(f16(product.x))) | ToBits(One(f16(product.y))) << 16);
}
HD u32 PairFmaHalf(u32 first, u32 second, u32 third) {
  const F16x2 a = Floats<F16x2>(first), b = Floats<F16x2>(second), c = Floats<F16x2>(third);
#if ON_DEVICE
  const F16x2 sum = __builtin_elementwise_fma(a, b, c);
#else
  const F16x2 sum = {FmaHalf(a.x, b.x, c.x), FmaHalf(a.y, b.y, c.y)};
#endif
  return u32(ToBits(One(f16(sum.x))) | ToBits(One(f16(sum.y))) << 16);
}
HD u64 PairFmaSingle(u64 first, u64 second, u64 third) {
  const F32x2 a = Floats<F32x2>(first), b = Floats<F32x2>(second), c = Floats<F32x2>(third);
#if ON_DEVICE
  const F32x2 sum = __builtin_elementwise_fma(a, b, c);
#else
  const F32x2 sum = {__builtin_fmaf(a.x, b.x, c.x), __builtin_fmaf(a.y, b.y, c.y)};
#endif
  return ToBits(One(f32(sum.x))) | ToBits(One(f32(sum.y))) << 32;
}
HD f32 FmaMixed(f16 a, f16 b, f32 c) { return __builtin_fmaf(f32(a), f32(b), c); }
HD f16 FmaMixedHalf(f16 a, f32 b, f16 c) { return f16(__builtin_fmaf(f32(a), b, f32(c))); }
INTEGER Clamp(T a) { return Smaller(Larger(a, T(0)), T(1)); }
HD f32 MedianReal(f32 a, f32 b, f32 c) {
  a = a == a ? a : 1, b = b == b ? b : 2, c = c == c ? c : 3;
#if ON_DEVICE
  return __builtin_amdgcn_fmed3f(a, b, c) + 0.0f;
#else
  return Larger(Smaller(a, b), Smaller(Larger(a, b), c));
#endif
}
// One of the ten classes of numbers, by bits as the hardware has them: two NaNs, -inf, -normal,
// -denormal, -0, +0, +denormal, +normal, +inf.
template <typename T, int kMask>
HD bool IsClass(T a) {
  return __builtin_isfpclass(a, kMask);
}
HD i32 Exponent(f32 a) {  // as of frexp; 0 for what is not finite
#if ON_DEVICE
  return __builtin_amdgcn_frexp_expf(a);
#else
  int exponent = 0;
  if (a - a == 0) __builtin_frexpf(a, &exponent);
  return exponent;
#endif
}
HD f64 Mantissa(f64 a) {
#if ON_DEVICE
  return __builtin_amdgcn_frexp_mant(a);
#else
  int exponent;
  return a - a == 0 ? __builtin_frexp(a, &exponent) : a;
#endif
}

// bfloat16, the compiler's own on the device.
HD u16 BrainBits(f32 a) {
#if ON_DEVICE
  const __bf16 brain = static_cast<__bf16>(a);
  return a != a ? u16(0x7fc0) : u16(ToBits(brain));
#else
  const u32 bits = u32(ToBits(One(a)));
  return u16((a != a ? bits : bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
}
HD f32 OfBrain(u16 bits) { return OfBits<f32>(u64{bits} << 16); }
HD f32 Brain(f32 a) { return OfBrain(BrainBits(a)); }
HD u32 PackBrain(f32 a, f32 b) { return BrainBits(a) | u32{BrainBits(b)} << 16; }
#if ON_DEVICE
#define BRAIN(name, expression)                                                   \
  HD f32 name(f32 first, f32 second) {                                            \
    const __bf16 a = static_cast<__bf16>(first), b = static_cast<__bf16>(second); \
    return static_cast<f32>(static_cast<__bf16>(expression));                     \
  }
#else
#define BRAIN(name, expression)                    \
  HD f32 name(f32 first, f32 second) {             \
    const f32 a = Brain(first), b = Brain(second); \
    return Brain(expression);                      \
  }
#endif
BRAIN(BrainAdd, a + b)
BRAIN(BrainSub, a - b)
BRAIN(BrainMul, a* b)
HD u32 PackHalf(f32 a, f32 b) { return u32(ToBits(One(f16(a))) | ToBits(One(f16(b))) << 16); }
HD u32 HalfToZero(f32 a) {  // rounded towards zero
  const f32 whole = One(a);
  f16 half = f16(whole);
  const bool larger = whole < 0 ? f32(half) < whole : f32(half) > whole;
  const u16 bits = u16(ToBits(half));
  return larger ? bits - 1 : bits;
}
HD u32 PackToZero(f32 a, f32 b) {
#if ON_DEVICE
  return __builtin_bit_cast(u32, __builtin_amdgcn_cvt_pkrtz(a == a ? a : 0, b == b ? b : 0));
#else
  return HalfToZero(a == a ? a : 0) | HalfToZero(b == b ? b : 0) << 16;
#endif
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
    return One(OfBits<To>(Unseen(ToBits(a))));
}

}  // namespace arithmetic
