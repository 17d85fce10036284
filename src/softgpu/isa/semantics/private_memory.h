// SPDX-License-Identifier: MIT
//
// Scratch, as scratch_* instructions and flat addresses in the private aperture see it: every lane
// has its own bytes, and the dwords of the lanes are interleaved (Wave::scratch_base). Lane i is at
// byte base + offset[i] of its own bytes, modulo 2^32. `upper` is the address's upper half, which
// only a fault report shows.
#pragma once

#include "softgpu/isa/semantics/lane_memory.h"

namespace rochound::softgpu {

struct PrivateAddresses {
  uint32_t base = 0;
  const uint32_t* offset = nullptr;  // nullptr: all lanes at base
  uint32_t upper = 0;
};

// Where the lanes' first dwords are. The k-th dword of a lane is k * 4 * lanes bytes further.
struct PrivatePlaces {
  HostAddress host = 0;
  bool uniform = false;  // lane i is at host + 4 * i + within
  uint32_t within = 0;
  alignas(64) uint32_t offset[kRowLanes];  // else at host + offset[i]
};

// False if the slow path is needed: out of bounds, across dwords, not in one region.
inline bool PlacePrivate(Wave& wave, const PrivateAddresses& addresses, uint64_t mask,
                         unsigned bytes, uint8_t access, PrivatePlaces* places) {
  const uint32_t lanes = wave.lanes;
  const unsigned dwords = bytes <= 4 ? 1 : bytes / 4;
  const uint32_t last_within = 4 - (bytes < 4 ? bytes : 4);  // an element stays inside its dword
  const bool all = mask == wave.full_exec;
  if (addresses.offset == nullptr || IsUniform(addresses.offset, mask, all, lanes)) {
    uint32_t at = addresses.base;
    if (addresses.offset != nullptr) at += addresses.offset[std::countr_zero(mask)];
    if (uint64_t{at} + bytes > wave.scratch_bytes_per_lane || at % 4 > last_within) return false;
    places->uniform = true;
    places->within = at % 4;
    places->host = HostBase(wave, wave.scratch_base + uint64_t{at / 4} * lanes * 4,
                            {0, (dwords * lanes - 1) * 4}, 4, access);
    return places->host != 0;
  }
  OffsetRange range = RangeOf(addresses.offset, mask, all, lanes);
  uint32_t first = addresses.base + range.min;
  uint32_t last = addresses.base + range.max;
  uint64_t total = uint64_t{wave.scratch_bytes_per_lane} * lanes;
  if (last < first || uint64_t{last} + bytes > wave.scratch_bytes_per_lane || total > UINT32_MAX)
    return false;
  uint32_t across = 0;
  for (uint32_t i = 0; i < lanes; ++i) {
    uint32_t at = addresses.base + addresses.offset[i];
    places->offset[i] = (at / 4 * lanes + i) * 4 + at % 4;
    across |= at % 4 > last_within ? static_cast<uint32_t>(mask >> i & 1) : 0;
  }
  if (across != 0) return false;
  places->uniform = false;
  places->host =
      HostBase(wave, wave.scratch_base, {0, static_cast<uint32_t>(total) - 4}, 4, access);
  return places->host != 0;
}

inline void WidenPrivate(const PrivateAddresses& from, unsigned lanes, WideAddresses* to) {
  for (unsigned i = 0; i < lanes; ++i) {
    uint32_t at = from.base + (from.offset == nullptr ? 0 : from.offset[i]);
    to->at[i] = at | uint64_t{from.upper} << 32;
  }
}

template <MemoryType M>
bool LoadPrivate(Wave& wave, const Op* op, const PrivateAddresses& addresses, uint64_t mask,
                 uint32_t* dst) {
  constexpr MemoryType kPart = M.bytes > 4 ? kBits32 : M;
  PrivatePlaces places;
  if (!PlacePrivate(wave, addresses, mask, M.bytes, kRead, &places)) [[unlikely]] {
    WideAddresses wide;
    WidenPrivate(addresses, wave.lanes, &wide);
    return LoadWide<M>(wave, op, AddressKind::kPrivate, wide, mask, dst);
  }
  const bool all = mask == wave.full_exec;
  for (unsigned k = 0; k < M.dwords(); ++k) {
    HostAddress host = places.host + k * 4u * wave.lanes;
    uint32_t* row = dst + k * kRowLanes;
    if (!places.uniform) {
      LoadRows<kPart>(host, places.offset, mask, all, wave.lanes, row);
    } else if (kPart.bytes == 4 && all) {
      LoadConsecutive<kBits32>(HostPointer(host), wave.lanes, row);
    } else {
      ForEachLane(mask, [&](unsigned i) {
        LoadLane<kPart>(HostPointer(host + i * 4 + places.within), row + i);
      });
    }
  }
  return true;
}

template <MemoryType M>
bool StorePrivate(Wave& wave, const Op* op, const PrivateAddresses& addresses, uint64_t mask,
                  const uint32_t* src) {
  constexpr MemoryType kPart = M.bytes > 4 ? kBits32 : M;
  PrivatePlaces places;
  if (!PlacePrivate(wave, addresses, mask, M.bytes, kWrite, &places)) [[unlikely]] {
    WideAddresses wide;
    WidenPrivate(addresses, wave.lanes, &wide);
    return StoreWide<M>(wave, op, AddressKind::kPrivate, wide, mask, src);
  }
  const bool all = mask == wave.full_exec;
  for (unsigned k = 0; k < M.dwords(); ++k) {
    HostAddress host = places.host + k * 4u * wave.lanes;
    const uint32_t* row = src + k * kRowLanes;
    if (!places.uniform) {
      StoreRows<kPart>(host, places.offset, mask, all, wave.lanes, row);
    } else if (kPart.bytes == 4 && all) {
      StoreConsecutive<kBits32>(HostPointer(host), wave.lanes, row);
    } else {
      ForEachLane(mask, [&](unsigned i) {
        StoreLane<kPart>(HostPointer(host + i * 4 + places.within), row + i);
      });
    }
  }
  return true;
}

}  // namespace rochound::softgpu
