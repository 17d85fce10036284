// SPDX-License-Identifier: MIT
//
// The accesses themselves: how bytes of GPU memory or LDS, already found in this process, are moved
// to and from register rows. Everything that touches memory for a wave goes through here, so that
// what thread sanitizer must know is said in one place: a kernel's plain loads and stores may race
// with other waves and with the host, as they may on hardware, and are therefore not instrumented.
// Aligned elements of 4 and 8 bytes are moved by single accesses of that width; nothing tears.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstdint>
#include <cstring>

#include "softgpu/isa/op.h"

namespace rochound::softgpu {

// Where a 16-bit result goes, or a 16-bit value comes from.
enum class Half : uint8_t { kNone, kLow, kHigh };

// What one lane moves.
struct MemoryType {
  uint8_t bytes;
  bool is_signed = false;
  Half half = Half::kNone;

  constexpr unsigned dwords() const { return bytes <= 4 ? 1 : bytes / 4; }
};

inline constexpr MemoryType kUnsigned8{1};
inline constexpr MemoryType kSigned8{1, true};
inline constexpr MemoryType kUnsigned16{2};
inline constexpr MemoryType kSigned16{2, true};
inline constexpr MemoryType kUnsigned8Low{1, false, Half::kLow};
inline constexpr MemoryType kUnsigned8High{1, false, Half::kHigh};
inline constexpr MemoryType kSigned8Low{1, true, Half::kLow};
inline constexpr MemoryType kSigned8High{1, true, Half::kHigh};
inline constexpr MemoryType kBits16Low{2, false, Half::kLow};
inline constexpr MemoryType kBits16High{2, false, Half::kHigh};
inline constexpr MemoryType kBits32{4};
inline constexpr MemoryType kBits64{8};
inline constexpr MemoryType kBits96{12};
inline constexpr MemoryType kBits128{16};

// One element, by one access.
template <typename T>
[[gnu::no_sanitize_thread]] inline T LoadElement(const uint8_t* from) {
  using Unaligned [[gnu::aligned(1), gnu::may_alias]] = T;
  return *reinterpret_cast<const volatile Unaligned*>(from);
}
template <typename T>
[[gnu::no_sanitize_thread]] inline void StoreElement(uint8_t* to, T value) {
  using Unaligned [[gnu::aligned(1), gnu::may_alias]] = T;
  *reinterpret_cast<volatile Unaligned*>(to) = value;
}

// One lane; `dst` and `src` point at the lane's place in the first of the rows.
template <MemoryType M>
[[gnu::no_sanitize_thread]] inline void LoadLane(const uint8_t* from, uint32_t* dst) {
  if constexpr (M.bytes <= 2) {
    uint32_t value;
    if constexpr (M.bytes == 1) {
      value = M.is_signed ? static_cast<uint32_t>(LoadElement<int8_t>(from))
                          : LoadElement<uint8_t>(from);
    } else {
      value = M.is_signed ? static_cast<uint32_t>(LoadElement<int16_t>(from))
                          : LoadElement<uint16_t>(from);
    }
    if constexpr (M.half == Half::kLow) value = (*dst & 0xFFFF0000) | (value & 0xFFFF);
    if constexpr (M.half == Half::kHigh) value = (*dst & 0xFFFF) | value << 16;
    *dst = value;
  } else {
    unsigned at = 0;
    for (; at + 8 <= M.bytes; at += 8) {
      uint64_t pair = LoadElement<uint64_t>(from + at);
      dst[at / 4 * kRowLanes] = static_cast<uint32_t>(pair);
      dst[(at / 4 + 1) * kRowLanes] = static_cast<uint32_t>(pair >> 32);
    }
    if (at < M.bytes) dst[at / 4 * kRowLanes] = LoadElement<uint32_t>(from + at);
  }
}
template <MemoryType M>
[[gnu::no_sanitize_thread]] inline void StoreLane(uint8_t* to, const uint32_t* src) {
  if constexpr (M.bytes <= 2) {
    uint32_t value = M.half == Half::kHigh ? *src >> 16 : *src;
    if constexpr (M.bytes == 1) {
      StoreElement(to, static_cast<uint8_t>(value));
    } else {
      StoreElement(to, static_cast<uint16_t>(value));
    }
  } else {
    unsigned at = 0;
    for (; at + 8 <= M.bytes; at += 8) {
      StoreElement(to + at,
                   src[at / 4 * kRowLanes] | uint64_t{src[(at / 4 + 1) * kRowLanes]} << 32);
    }
    if (at < M.bytes) StoreElement(to + at, src[at / 4 * kRowLanes]);
  }
}

// A place in this process, as a number: lanes are reached from a base that need not itself be
// mapped.
using HostAddress = uintptr_t;
inline uint8_t* HostPointer(HostAddress address) { return reinterpret_cast<uint8_t*>(address); }

// Runs `body(lane)` for the lanes of a mask, in ascending order.
template <typename Body>
inline void ForEachLane(uint64_t mask, Body&& body) {
  for (; mask != 0; mask &= mask - 1) body(static_cast<unsigned>(std::countr_zero(mask)));
}

// Lane i is at host + offset[i]. A destination row may be the offsets' own row.
template <MemoryType M>
[[gnu::no_sanitize_thread]] inline void LoadRows(HostAddress host, const uint32_t* offset,
                                                 uint64_t mask, bool all, unsigned lanes,
                                                 uint32_t* dst) {
  if (!all) {
    ForEachLane(mask, [&](unsigned i) { LoadLane<M>(HostPointer(host + offset[i]), dst + i); });
  } else if constexpr (M.bytes == 16) {
    for (unsigned i = 0; i < lanes; i += 4) {  // four lanes are turned into four rows
      auto load = [&](unsigned lane) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(host + offset[lane]));
      };
      __m128i a = load(i), b = load(i + 1), c = load(i + 2), d = load(i + 3);
      __m128i ab_low = _mm_unpacklo_epi32(a, b), ab_high = _mm_unpackhi_epi32(a, b);
      __m128i cd_low = _mm_unpacklo_epi32(c, d), cd_high = _mm_unpackhi_epi32(c, d);
      auto store = [&](unsigned row, __m128i value) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + row * kRowLanes + i), value);
      };
      store(0, _mm_unpacklo_epi64(ab_low, cd_low));
      store(1, _mm_unpackhi_epi64(ab_low, cd_low));
      store(2, _mm_unpacklo_epi64(ab_high, cd_high));
      store(3, _mm_unpackhi_epi64(ab_high, cd_high));
    }
  } else if constexpr (M.bytes == 8) {
    for (unsigned i = 0; i < lanes; i += 4) {
      auto load = [&](unsigned lane) {
        return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(host + offset[lane]));
      };
      __m128i ab = _mm_unpacklo_epi32(load(i), load(i + 1));
      __m128i cd = _mm_unpacklo_epi32(load(i + 2), load(i + 3));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + i), _mm_unpacklo_epi64(ab, cd));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + kRowLanes + i), _mm_unpackhi_epi64(ab, cd));
    }
  } else {
    for (unsigned i = 0; i < lanes; ++i) LoadLane<M>(HostPointer(host + offset[i]), dst + i);
  }
}
template <MemoryType M>
[[gnu::no_sanitize_thread]] inline void StoreRows(HostAddress host, const uint32_t* offset,
                                                  uint64_t mask, bool all, unsigned lanes,
                                                  const uint32_t* src) {
  if (!all) {
    ForEachLane(mask, [&](unsigned i) { StoreLane<M>(HostPointer(host + offset[i]), src + i); });
  } else if constexpr (M.bytes == 16) {
    for (unsigned i = 0; i < lanes; i += 4) {
      auto load = [&](unsigned row) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + row * kRowLanes + i));
      };
      __m128i a = load(0), b = load(1), c = load(2), d = load(3);
      __m128i ab_low = _mm_unpacklo_epi32(a, b), ab_high = _mm_unpackhi_epi32(a, b);
      __m128i cd_low = _mm_unpacklo_epi32(c, d), cd_high = _mm_unpackhi_epi32(c, d);
      auto store = [&](unsigned lane, __m128i value) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(host + offset[lane]), value);
      };
      store(i, _mm_unpacklo_epi64(ab_low, cd_low));
      store(i + 1, _mm_unpackhi_epi64(ab_low, cd_low));
      store(i + 2, _mm_unpacklo_epi64(ab_high, cd_high));
      store(i + 3, _mm_unpackhi_epi64(ab_high, cd_high));
    }
  } else {
    for (unsigned i = 0; i < lanes; ++i) StoreLane<M>(HostPointer(host + offset[i]), src + i);
  }
}

// All lanes, lane i at host + i * M.bytes. Only types of at most 4 bytes.
template <MemoryType M>
[[gnu::no_sanitize_thread]] inline void LoadConsecutive(const uint8_t* host, unsigned lanes,
                                                        uint32_t* dst) {
  static_assert(M.bytes <= 4);
  if constexpr (M.bytes == 4) {
    for (unsigned i = 0; i < lanes; i += 8) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(host + i * 4)));
    }
  } else {
    for (unsigned i = 0; i < lanes; ++i) LoadLane<M>(host + i * M.bytes, dst + i);
  }
}
template <MemoryType M>
[[gnu::no_sanitize_thread]] inline void StoreConsecutive(uint8_t* host, unsigned lanes,
                                                         const uint32_t* src) {
  static_assert(M.bytes <= 4);
  if constexpr (M.bytes == 4) {
    for (unsigned i = 0; i < lanes; i += 8) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(host + i * 4),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i)));
    }
  } else {
    for (unsigned i = 0; i < lanes; ++i) StoreLane<M>(host + i * M.bytes, src + i);
  }
}

// Any number of bytes, in pieces as wide as can be.
[[gnu::no_sanitize_thread]] inline void CopyFromMemory(uint8_t* to, const uint8_t* from,
                                                       unsigned bytes) {
  auto piece = [&]<typename T>(T) {
    for (; bytes >= sizeof(T); bytes -= sizeof(T), from += sizeof(T), to += sizeof(T)) {
      T value = LoadElement<T>(from);
      std::memcpy(to, &value, sizeof(T));
    }
  };
  piece(uint64_t{});
  piece(uint32_t{});
  piece(uint16_t{});
  piece(uint8_t{});
}
[[gnu::no_sanitize_thread]] inline void CopyToMemory(uint8_t* to, const uint8_t* from,
                                                     unsigned bytes) {
  auto piece = [&]<typename T>(T value) {
    for (; bytes >= sizeof(T); bytes -= sizeof(T), from += sizeof(T), to += sizeof(T)) {
      std::memcpy(&value, from, sizeof(T));
      StoreElement<T>(to, value);
    }
  };
  piece(uint64_t{});
  piece(uint32_t{});
  piece(uint16_t{});
  piece(uint8_t{});
}

// A 32-bit or 64-bit operand of one lane, in one or two rows.
template <typename T>
inline T GetElement(const uint32_t* row, unsigned lane) {
  if constexpr (sizeof(T) == 8) {
    return row[lane] | uint64_t{row[kRowLanes + lane]} << 32;
  } else {
    return row[lane];
  }
}
template <typename T>
inline void PutElement(uint32_t* row, unsigned lane, T value) {
  row[lane] = static_cast<uint32_t>(value);
  if constexpr (sizeof(T) == 8) row[kRowLanes + lane] = static_cast<uint32_t>(value >> 32);
}

// old -> F(old, data, compare) in one indivisible step, also against the host and other processes.
// `to` is aligned. Returns the old value.
template <typename T, auto F>
inline T UpdateShared(uint8_t* to, T data, T compare) {
  T* place = reinterpret_cast<T*>(to);
  if constexpr (requires { F.Direct(place, data, compare); }) {
    return F.Direct(place, data, compare);
  } else {
    T old = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(place, &old, F(old, data, compare), true, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED)) {
    }
    return old;
  }
}

// The same where nobody else can interfere: LDS (a workgroup's waves run on one thread) and
// scratch.
template <typename T, auto F>
inline T UpdateExclusive(uint8_t* to, T data, T compare) {
  T old = LoadElement<T>(to);
  StoreElement(to, F(old, data, compare));
  return old;
}

}  // namespace rochound::softgpu
