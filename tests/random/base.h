// SPDX-License-Identifier: MIT
//
// The ground under random kernels: types, and one way to say "a function of both sides". Included
// by every header here. A generated file is compiled twice, by the same compiler: for a GPU target
// (-x hip --offload-device-only, without HIP's headers and device libraries, which would take most
// of the compiler's time) and for the host as plain C++, where it becomes the model.
#pragma once

#include <cstdint>
#include <type_traits>

#ifdef __HIP_DEVICE_COMPILE__
#define ON_DEVICE 1
#ifdef __OPTIMIZE__
#define HD __attribute__((device)) inline __attribute__((always_inline))
#else  // calls at -O0, which the compiler is through with sooner
#define HD __attribute__((device)) inline
#endif
#define HD_CALL __attribute__((device)) __attribute__((noinline))
#else
#define ON_DEVICE 0
#define HD inline __attribute__((always_inline))
#define HD_CALL __attribute__((noinline))
#endif

namespace base {

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

using U16x2 = u16 __attribute__((ext_vector_type(2)));
using I16x2 = i16 __attribute__((ext_vector_type(2)));
using F16x2 = f16 __attribute__((ext_vector_type(2)));
using F32x2 = f32 __attribute__((ext_vector_type(2)));

template <typename T>
HD u64 ToBits(T value) {
  u64 bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <typename T>
HD T OfBits(u64 bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

// The one NaN: a NaN's sign and payload are nobody's promise.
template <typename T>
HD T One(T a) {
  if constexpr (kReal<T>) {
    constexpr u64 kNan = sizeof(T) == 8   ? 0x7ff8000000000000ull
                         : sizeof(T) == 4 ? 0x7fc00000
                                          : 0x7e00;
    return a != a ? OfBits<T>(kNan) : a;
  } else {
    return a;
  }
}
template <typename T>
HD u64 Result(T a) {
  return ToBits(One(a));
}

}  // namespace base
