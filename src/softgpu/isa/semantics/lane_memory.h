// SPDX-License-Identifier: MIT
//
// How the lanes of a wave reach memory: the address arithmetic, translation and fallbacks that the
// flat, buffer and LDS instructions share. The common case is translated once for the whole wave:
// all lanes in one region, each at base + a 32-bit offset. Everything else (lanes in several
// regions, accesses across a region's edge, faults, mixed apertures) takes the slow path, lane by
// lane. A function that returns false has stopped the wave with the reason; no register was
// written.
#pragma once

#include <immintrin.h>

#include <array>
#include <bit>
#include <cstdint>

#include "softgpu/isa/semantics/memory_access.h"
#include "softgpu/isa/wave.h"

namespace rochound::softgpu {

// Registers of a memory instruction, packed into Op::imm2 at decode time so that running it touches
// one cache line of the Op. Rows of the register file, or indices of ScalarRegister.
struct MemoryForm {
  static constexpr uint16_t kAbsent = 0xFFFF;
  uint16_t address = kAbsent;
  uint16_t scalar = kAbsent;
  uint16_t data = kAbsent;
  uint16_t result = kAbsent;

  static MemoryForm Of(const Op* op) { return std::bit_cast<MemoryForm>(op->imm2); }
  void Store(Op* op) const { op->imm2 = std::bit_cast<uint64_t>(*this); }
};

// CDNA's registers have ECC over whole dwords, so there a load of one half clears the other; LLVM
// does not count on the old half (d16PreservesUnusedBits), and Tensile's kernels count on zeros.
inline bool KeepsOtherHalf(const Wave& wave) { return !(wave.architecture->bit & kGfx9Targets); }

// Ends a load of type M into `dst`.
template <MemoryType M>
inline void ClearOtherHalf(const Wave& wave, uint64_t mask, uint32_t* dst) {
  if constexpr (M.half != Half::kNone) {
    if (KeepsOtherHalf(wave)) return;
    ForEachLane(mask, [&](unsigned i) { dst[i] &= M.half == Half::kLow ? 0xFFFF : 0xFFFF0000; });
  }
}

// Lane i is at base + offset[i].
struct LaneAddresses {
  uint64_t base = 0;
  const uint32_t* offset = nullptr;
};

// The offsets of lanes that follow each other dword by dword.
inline constexpr auto kLaneTimesFour = [] {
  std::array<uint32_t, kRowLanes> row{};
  for (unsigned i = 0; i < kRowLanes; ++i) row[i] = i * 4;
  return row;
}();

struct OffsetRange {
  uint32_t min = 0;
  uint32_t max = 0;
};

namespace lane_memory_detail {

inline __m256i LoadEight(const uint32_t* row) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row));
}
// All ones in the lanes whose bit is set in the low eight bits.
inline __m256i ExpandEight(uint32_t bits) {
  const __m256i select = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), select),
                            select);
}

}  // namespace lane_memory_detail

// True if offset[i] == offset[0] + i * stride for all lanes, without wrapping.
inline bool IsConsecutive(const uint32_t* offset, unsigned stride, unsigned lanes) {
  using namespace lane_memory_detail;
  if (offset[lanes - 1] - offset[0] != (lanes - 1) * stride || offset[lanes - 1] < offset[0])
    return false;
  int s = static_cast<int>(stride);
  __m256i expected =
      _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(offset[0])),
                       _mm256_setr_epi32(0, s, 2 * s, 3 * s, 4 * s, 5 * s, 6 * s, 7 * s));
  const __m256i step = _mm256_set1_epi32(8 * s);
  __m256i different = _mm256_setzero_si256();
  for (unsigned i = 0; i < lanes; i += 8) {
    different = _mm256_or_si256(different, _mm256_xor_si256(LoadEight(offset + i), expected));
    expected = _mm256_add_epi32(expected, step);
  }
  return _mm256_testz_si256(different, different);
}

// True if all lanes of a non-empty mask hold the same value.
inline bool IsUniform(const uint32_t* row, uint64_t mask, bool all, unsigned lanes) {
  using namespace lane_memory_detail;
  __m256i first = _mm256_set1_epi32(static_cast<int>(row[std::countr_zero(mask)]));
  __m256i different = _mm256_setzero_si256();
  for (unsigned i = 0; i < lanes; i += 8) {
    __m256i change = _mm256_xor_si256(LoadEight(row + i), first);
    if (!all) change = _mm256_and_si256(change, ExpandEight(static_cast<uint32_t>(mask >> i)));
    different = _mm256_or_si256(different, change);
  }
  return _mm256_testz_si256(different, different);
}

// Least and greatest offset among the lanes of a non-empty mask.
inline OffsetRange RangeOf(const uint32_t* offset, uint64_t mask, bool all, unsigned lanes) {
  using namespace lane_memory_detail;
  __m256i low = _mm256_set1_epi32(static_cast<int>(offset[std::countr_zero(mask)]));
  __m256i high = low;
  const __m256i first = low;
  for (unsigned i = 0; i < lanes; i += 8) {
    __m256i value = LoadEight(offset + i);
    if (!all)
      value = _mm256_blendv_epi8(first, value, ExpandEight(static_cast<uint32_t>(mask >> i)));
    low = _mm256_min_epu32(low, value);
    high = _mm256_max_epu32(high, value);
  }
  __m128i l = _mm_min_epu32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
  __m128i h = _mm_max_epu32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
  l = _mm_min_epu32(l, _mm_shuffle_epi32(l, 0x4E));
  h = _mm_max_epu32(h, _mm_shuffle_epi32(h, 0x4E));
  l = _mm_min_epu32(l, _mm_shuffle_epi32(l, 0xB1));
  h = _mm_max_epu32(h, _mm_shuffle_epi32(h, 0xB1));
  return {static_cast<uint32_t>(_mm_cvtsi128_si32(l)), static_cast<uint32_t>(_mm_cvtsi128_si32(h))};
}

// Where `base` would be in this process, if one region holds [base + min, base + max + bytes) with
// the wanted access; else 0. `base` itself may lie outside of the region.
inline HostAddress HostBase(Wave& wave, uint64_t base, OffsetRange range, unsigned bytes,
                            uint8_t access) {
  uint64_t first = base + range.min;
  const Region* region = wave.memory->Find(first);
  if (region == nullptr || (region->access & access) != access ||
      uint64_t{range.max - range.min} + bytes > region->end - first)
    return 0;
  return reinterpret_cast<HostAddress>(region->host) + (base - region->begin);
}

// ---- Lane by lane ----

// What a 64-bit address means. A flat address is global unless its upper half names an aperture.
enum class AddressKind : uint8_t { kGlobal, kFlat, kPrivate };

struct WideAddresses {
  alignas(64) uint64_t at[kRowLanes];
};
inline constexpr unsigned kLaneBytes = 16;  // room for one lane's data
struct LaneBytes {
  alignas(64) uint8_t of[kRowLanes * kLaneBytes];
  HostAddress host() { return reinterpret_cast<HostAddress>(of); }
};
// Offset of each lane in LaneBytes, so that rows can be loaded from and stored to it.
const uint32_t* LaneBytesOffsets();

bool ReadLanes(Wave& wave, const Op* op, AddressKind kind, const WideAddresses& addresses,
               uint64_t mask, unsigned bytes, LaneBytes* out);
// Checks every lane before the first one is written.
bool WriteLanes(Wave& wave, const Op* op, AddressKind kind, const WideAddresses& addresses,
                uint64_t mask, unsigned bytes, const LaneBytes& in);
// One access of the scalar unit, or of one lane.
bool CheckGlobal(Wave& wave, const Op* op, uint64_t address, unsigned bytes, uint8_t access);
bool ReadGlobal(Wave& wave, const Op* op, uint64_t address, unsigned bytes, uint8_t* out);
bool WriteGlobal(Wave& wave, const Op* op, uint64_t address, unsigned bytes, const uint8_t* in);

// Where an atomic operand is. Nobody else touches LDS and scratch while this wave runs.
struct AtomicPlace {
  uint8_t* host = nullptr;
  uint8_t* upper = nullptr;  // upper half of a 64-bit operand, if it is not after the lower one
  bool exclusive = false;
};
bool FindAtomicPlace(Wave& wave, const Op* op, AddressKind kind, uint64_t address, unsigned lane,
                     unsigned bytes, AtomicPlace* place);

const Op* StopMisaligned(Wave& wave, const Op* op, uint64_t address);
const Op* StopAperture(Wave& wave, const Op* op, uint64_t address);

inline bool IsShared(const Wave& wave, uint32_t upper) {
  return upper == wave.sgpr[kSharedBase + 1] && upper != 0;
}
inline bool IsPrivate(const Wave& wave, uint32_t upper) {
  return upper == wave.sgpr[kPrivateBase + 1] && upper != 0;
}

// ---- Global ----

template <MemoryType M>
bool LoadWide(Wave& wave, const Op* op, AddressKind kind, const WideAddresses& addresses,
              uint64_t mask, uint32_t* dst) {
  LaneBytes bytes;
  if (!ReadLanes(wave, op, kind, addresses, mask, M.bytes, &bytes)) return false;
  LoadRows<M>(bytes.host(), LaneBytesOffsets(), mask, false, wave.lanes, dst);
  return true;
}
template <MemoryType M>
bool StoreWide(Wave& wave, const Op* op, AddressKind kind, const WideAddresses& addresses,
               uint64_t mask, const uint32_t* src) {
  LaneBytes bytes;
  StoreRows<M>(bytes.host(), LaneBytesOffsets(), mask, false, wave.lanes, src);
  return WriteLanes(wave, op, kind, addresses, mask, M.bytes, bytes);
}

inline void Widen(const LaneAddresses& from, unsigned lanes, WideAddresses* to) {
  for (unsigned i = 0; i < lanes; ++i) to->at[i] = from.base + from.offset[i];
}

// Slow path of the two functions below, which see global addresses or flat ones outside of
// apertures.
template <MemoryType M, AddressKind K>
[[gnu::noinline]] bool LoadGlobalSlow(Wave& wave, const Op* op, const LaneAddresses& addresses,
                                      uint64_t mask, uint32_t* dst) {
  WideAddresses wide;
  Widen(addresses, wave.lanes, &wide);
  return LoadWide<M>(wave, op, K, wide, mask, dst);
}
template <MemoryType M, AddressKind K>
[[gnu::noinline]] bool StoreGlobalSlow(Wave& wave, const Op* op, const LaneAddresses& addresses,
                                       uint64_t mask, const uint32_t* src) {
  WideAddresses wide;
  Widen(addresses, wave.lanes, &wide);
  return StoreWide<M>(wave, op, K, wide, mask, src);
}

// `dst` may be the offsets' own row. The mask is not empty.
template <MemoryType M, AddressKind K = AddressKind::kGlobal>
inline bool LoadGlobal(Wave& wave, const Op* op, const LaneAddresses& addresses, uint64_t mask,
                       uint32_t* dst) {
  const uint32_t* offset = addresses.offset;
  bool all = mask == wave.full_exec;
  if constexpr (M.bytes <= 4) {
    if (all && IsConsecutive(offset, M.bytes, wave.lanes)) {
      uint32_t first = offset[0];
      HostAddress host =
          HostBase(wave, addresses.base, {first, offset[wave.lanes - 1u]}, M.bytes, kRead);
      if (host == 0) [[unlikely]]
        return LoadGlobalSlow<M, K>(wave, op, addresses, mask, dst);
      LoadConsecutive<M>(HostPointer(host + first), wave.lanes, dst);
      return true;
    }
  }
  HostAddress host =
      HostBase(wave, addresses.base, RangeOf(offset, mask, all, wave.lanes), M.bytes, kRead);
  if (host == 0) [[unlikely]]
    return LoadGlobalSlow<M, K>(wave, op, addresses, mask, dst);
  LoadRows<M>(host, offset, mask, all, wave.lanes, dst);
  return true;
}

template <MemoryType M, AddressKind K = AddressKind::kGlobal>
inline bool StoreGlobal(Wave& wave, const Op* op, const LaneAddresses& addresses, uint64_t mask,
                        const uint32_t* src) {
  const uint32_t* offset = addresses.offset;
  bool all = mask == wave.full_exec;
  if constexpr (M.bytes <= 4) {
    if (all && IsConsecutive(offset, M.bytes, wave.lanes)) {
      uint32_t first = offset[0];
      HostAddress host =
          HostBase(wave, addresses.base, {first, offset[wave.lanes - 1u]}, M.bytes, kWrite);
      if (host == 0) [[unlikely]]
        return StoreGlobalSlow<M, K>(wave, op, addresses, mask, src);
      StoreConsecutive<M>(HostPointer(host + first), wave.lanes, src);
      return true;
    }
  }
  HostAddress host =
      HostBase(wave, addresses.base, RangeOf(offset, mask, all, wave.lanes), M.bytes, kWrite);
  if (host == 0) [[unlikely]]
    return StoreGlobalSlow<M, K>(wave, op, addresses, mask, src);
  StoreRows<M>(host, offset, mask, all, wave.lanes, src);
  return true;
}

// ---- LDS ----

// Writes `dwords` dwords per lane of `mask` as "load to LDS" instructions do: lane i's go to
// M0 + offset + 4 * i, or 16 * i if they are several.
void StoreLoadedToLds(Wave& wave, int64_t offset, uint64_t mask, unsigned dwords,
                      const uint32_t* rows);

}  // namespace rochound::softgpu
