// SPDX-License-Identifier: MIT
//
// How random kernels read and write memory: every type and width, aligned or not, with the compiler
// knowing the address space or not. Included by every generated file (by way of harness.h); the
// same C++ on both sides. Whoever calls gives addresses that are his.
#pragma once

#include "base.h"

namespace memory {

using namespace base;

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

}  // namespace memory
