// SPDX-License-Identifier: MIT
//
// Atomics of random kernels. Included by every generated file (by way of harness.h). On the host,
// where work items are fibres that only yield elsewhere, an atomic is a plain read and write. Cells
// that many work items share only see operations whose order does not matter (the generator keeps
// to that), and what they return is not looked at; a work item's own cells see every kind, and what
// is returned counts.
#pragma once

#include "base.h"

namespace atomics {

using namespace base;

enum Kind { kAdd, kSub, kMin, kMax, kAnd, kOr, kXor, kCasAdd, kExchange, kCas, kInc, kDec };

// What a cell becomes. kCas: the value, if the cell's lowest bit is set.
template <Kind kKind, typename T>
HD T Combine(T old, T value) {
  switch (kKind) {
    case kSub:
      return T(Wide<T>(old) - Wide<T>(value));
    case kMin:
      return old < value ? old : value;
    case kMax:
      return old > value ? old : value;
    case kAnd:
      return old & value;
    case kOr:
      return old | value;
    case kXor:
      return old ^ value;
    case kExchange:
      return value;
    case kCas:
      return old & 1 ? value : old;
    case kInc:
      return old >= value ? 0 : old + 1;
    case kDec:
      return old == 0 || old > value ? value : old - 1;
    default:
      return T(Wide<T>(old) + Wide<T>(value));
  }
}

#if ON_DEVICE
// kStrong: sequentially consistent for the whole system, else relaxed for this GPU.
template <Kind kKind, bool kStrong, typename T>
HD T Change(T* cell, T value) {
  constexpr int kOrder = kStrong ? __ATOMIC_SEQ_CST : __ATOMIC_RELAXED;
  constexpr int kScope = kStrong ? __HIP_MEMORY_SCOPE_SYSTEM : __HIP_MEMORY_SCOPE_AGENT;
  switch (kKind) {
    case kAdd:
      return __hip_atomic_fetch_add(cell, value, kOrder, kScope);
    case kSub:
      return __hip_atomic_fetch_sub(cell, value, kOrder, kScope);
    case kMin:
      return __hip_atomic_fetch_min(cell, value, kOrder, kScope);
    case kMax:
      return __hip_atomic_fetch_max(cell, value, kOrder, kScope);
    case kAnd:
      return __hip_atomic_fetch_and(cell, value, kOrder, kScope);
    case kOr:
      return __hip_atomic_fetch_or(cell, value, kOrder, kScope);
    case kXor:
      return __hip_atomic_fetch_xor(cell, value, kOrder, kScope);
    case kExchange:
      return __hip_atomic_exchange(cell, value, kOrder, kScope);
    case kInc:
      if constexpr (sizeof(T) == 4)
        return __builtin_amdgcn_atomic_inc32(reinterpret_cast<Unsigned<T>*>(cell), value, kOrder,
                                             "agent");
      else
        return __builtin_amdgcn_atomic_inc64(reinterpret_cast<Unsigned<T>*>(cell), value, kOrder,
                                             "agent");
    case kDec:
      if constexpr (sizeof(T) == 4)
        return __builtin_amdgcn_atomic_dec32(reinterpret_cast<Unsigned<T>*>(cell), value, kOrder,
                                             "agent");
      else
        return __builtin_amdgcn_atomic_dec64(reinterpret_cast<Unsigned<T>*>(cell), value, kOrder,
                                             "agent");
    case kCas: {
      const T seen = __hip_atomic_load(cell, __ATOMIC_RELAXED, kScope);
      T expected = seen | 1;
      __hip_atomic_compare_exchange_strong(cell, &expected, value, kOrder, kOrder, kScope);
      return expected;
    }
    default: {
      T old = __hip_atomic_load(cell, __ATOMIC_RELAXED, kScope);
      while (!__hip_atomic_compare_exchange_strong(cell, &old, Combine<kAdd, T>(old, value), kOrder,
                                                   kOrder, kScope)) {
      }
      return old;
    }
  }
}
#endif

template <Kind kKind, typename T, bool kStrong = false>
HD T Atomic(T* cell, T value) {
#if ON_DEVICE
  return Change<kKind, kStrong, T>(cell, value);
#else
  const T old = *cell;
  *cell = Combine<kKind, T>(old, value);
  return old;
#endif
}

// kAdd, kMin or kMax of real numbers. The generator gives whole numbers, of which shared cells see
// only small ones: sums that no order of rounding changes.
template <Kind kKind, typename T>
HD T AtomicReal(T* cell, T value) {
#if ON_DEVICE
  [[clang::atomic(no_fine_grained_memory, no_remote_memory, ignore_denormal_mode)]] {
    switch (kKind) {
      case kMin:
        return __hip_atomic_fetch_min(cell, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
      case kMax:
        return __hip_atomic_fetch_max(cell, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
      default:
        return __hip_atomic_fetch_add(cell, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }
  }
#else
  const T old = *cell;
  *cell = kKind == kMin   ? (old < value ? old : value)
          : kKind == kMax ? (old > value ? old : value)
                          : T(old + value);
  return old;
#endif
}

// Two halves at once, in global memory or, with kLds, in a cell of the LDS.
template <bool kLds>
HD u32 AtomicPair(u32* cell, u32 value) {
#if ON_DEVICE
  if constexpr (kLds) {
#if defined(__gfx942__) || defined(__gfx950__) || defined(__GFX12__)
    return __builtin_bit_cast(
        u32, __builtin_amdgcn_ds_atomic_fadd_v2f16((__attribute__((address_space(3))) F16x2*)cell,
                                                   __builtin_bit_cast(F16x2, value)));
#endif
  } else {
#if defined(__GFX9__) || defined(__GFX12__)
    return __builtin_bit_cast(
        u32, __builtin_amdgcn_global_atomic_fadd_v2f16(
                 (__attribute__((address_space(1))) F16x2*)cell, __builtin_bit_cast(F16x2, value)));
#endif
  }
#endif
  const u32 old = *cell;
  const F16x2 a = __builtin_bit_cast(F16x2, old), b = __builtin_bit_cast(F16x2, value);
  const F16x2 sum = {f16(a.x + b.x), f16(a.y + b.y)};
  *cell = __builtin_bit_cast(u32, sum);
  return old;
}

// The address space is not known to the compiler.
template <Kind kKind, typename T>
HD_CALL T AtomicAnywhere(T* cell, T value) {
  return Atomic<kKind, T>(cell, value);
}

}  // namespace atomics
