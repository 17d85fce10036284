// SPDX-License-Identifier: MIT
//
// What a random kernel may do that is not plain C++: find its place, wait for its workgroup, talk
// to the lanes of its wave. Included by every generated file (by way of harness.h). Each function
// exists twice under one name: on the device it is the compiler's builtin, on the host a model of
// it (fibres.h). Where targets differ, the device asks the compiler and the model the generation.
//
// Rules for who generates: barriers and reads of chosen lanes only where all lanes come; wave
// operations never in a loop that some lanes leave or continue early from the middle (the compiler
// may then move a block out of the loop). The first argument of a wave operation is its place in
// the program, counted in program order.
#pragma once

#include "base.h"
#if !ON_DEVICE
#include "fibres.h"
#endif

namespace lanes {

using namespace base;

HD void Barrier() {
#if ON_DEVICE
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#else
  TheGroup().now->state = Lane::kAtBarrier;
  Yield();
#endif
}

// Around a loop with wave operations in it; Step() at the start of each iteration.
struct Loop {
#if ON_DEVICE
  HD explicit Loop(u32) {}
  HD void Step() {}
#else
  explicit Loop(u32 id) {
    TheGroup().now->path.push_back(id);
    TheGroup().now->path.push_back(0);
  }
  ~Loop() {
    TheGroup().now->path.pop_back();
    TheGroup().now->path.pop_back();
  }
  void Step() { ++TheGroup().now->path.back(); }
#endif
};

HD u32 LaneIndex() {
#if ON_DEVICE
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
#else
  return TheGroup().now->index;
#endif
}

HD u32 CountBelow(u64 mask) {
#if ON_DEVICE
  return __builtin_amdgcn_mbcnt_hi(mask >> 32, __builtin_amdgcn_mbcnt_lo(mask, 0));
#else
  return __builtin_popcountll(mask & ((u64{1} << TheGroup().now->index) - 1));
#endif
}

// --- where some lanes may be elsewhere
HD u64 Ballot(u32 id, bool vote) {
#if ON_DEVICE
  return __builtin_amdgcn_ballot_w64(vote);
#else
  const Group::Wave& wave = WaveSync(id, vote);
  u64 result = 0;
  for (int lane = 0; lane < 64; ++lane) {
    if ((wave.active >> lane & 1) && wave.values[lane]) result |= u64{1} << lane;
  }
  return result;
#endif
}

HD bool Any(u32 id, bool vote) { return Ballot(id, vote) != 0; }
HD bool All(u32 id, bool vote) { return Ballot(id, !vote) == 0; }

HD u32 FirstLane(u32 id, u32 value) {
#if ON_DEVICE
  return __builtin_amdgcn_readfirstlane(value);
#else
  const Group::Wave& wave = WaveSync(id, value);
  return static_cast<u32>(wave.values[__builtin_ctzll(wave.active)]);
#endif
}

// --- where all lanes of the wave are
// The value of another lane, by ds_bpermute.
template <typename T>
HD T OfLane(u32 id, T value, int lane) {
#if ON_DEVICE
  const u64 bits = ToBits(value);
  const u32 low = __builtin_amdgcn_ds_bpermute(lane << 2, static_cast<i32>(bits));
  if constexpr (sizeof(T) == 8) {
    const u32 high = __builtin_amdgcn_ds_bpermute(lane << 2, static_cast<i32>(bits >> 32));
    return OfBits<T>(u64{high} << 32 | low);
  } else {
    return OfBits<T>(low);
  }
#else
  return OfBits<T>(WaveSync(id, ToBits(value)).values[lane]);
#endif
}

template <typename T>
HD T Shuffle(u32 id, T value, int source, int width) {
  const int self = LaneIndex();
  return OfLane(id, value, (source & (width - 1)) + (self & ~(width - 1)));
}
template <typename T>
HD T ShuffleXor(u32 id, T value, int mask, int width) {
  const int self = LaneIndex(), lane = self ^ mask;
  return OfLane(id, value, lane >= ((self + width) & ~(width - 1)) ? self : lane);
}
template <typename T>
HD T ShuffleUp(u32 id, T value, int delta, int width) {
  const int self = LaneIndex(), lane = self - delta;
  return OfLane(id, value, lane < (self & ~(width - 1)) ? self : lane);
}
template <typename T>
HD T ShuffleDown(u32 id, T value, int delta, int width) {
  const int self = LaneIndex();
  return OfLane(id, value, (self & (width - 1)) + delta >= width ? self : self + delta);
}

// Sends to the lane self ^ mask.
HD u32 Send(u32 id, u32 value, u32 mask) {
#if ON_DEVICE
  return __builtin_amdgcn_ds_permute((LaneIndex() ^ (mask & 31)) << 2, value);
#else
  const u32 lane = LaneIndex() ^ (mask & 31);
  return static_cast<u32>(WaveSync(id, value).values[lane]);
#endif
}

// DPP, the controls that gfx9 to gfx12 have in common: quad permutations, shifts and rotations in a
// row, mirrors. A source lane that is elsewhere counts as one outside the row.
template <int kControl, int kRowMask, int kBankMask, bool kBoundControl>
HD u32 Dpp(u32 id, u32 old, u32 value) {
#if ON_DEVICE
  return __builtin_amdgcn_update_dpp(old, value, kControl, kRowMask, kBankMask, kBoundControl);
#else
  const Group::Wave& wave = WaveSync(id, value);
  const int self = LaneIndex(), row = self & ~15, in_row = self & 15;
  if (!(kRowMask >> (self / 16) & 1) || !(kBankMask >> (in_row / 4) & 1)) return old;
  int lane = in_row;
  if (kControl < 0x100) {
    lane = (in_row & ~3) | (kControl >> (2 * (in_row & 3)) & 3);
  } else if (kControl < 0x110) {
    lane = in_row + (kControl & 15);
  } else if (kControl < 0x120) {
    lane = in_row - (kControl & 15);
  } else if (kControl < 0x130) {
    lane = (in_row - (kControl & 15)) & 15;
  } else if (kControl == 0x140) {
    lane = 15 - in_row;
  } else {
    lane = (in_row & 8) | (7 - (in_row & 7));
  }
  if (lane < 0 || lane > 15 || !(wave.active >> (row + lane) & 1)) return kBoundControl ? 0 : old;
  return static_cast<u32>(wave.values[row + lane]);
#endif
}

// What only some generations have: between rows on gfx9, within a row and between two since gfx10.
template <int kWhich>
HD u32 RowOperation(u32 id, u32 old, u32 value) {
#if ON_DEVICE
#if defined(__GFX9__)
  constexpr int kControls[] = {0x130, 0x134, 0x138, 0x13c, 0x142, 0x143, 0x130, 0x138};
  return __builtin_amdgcn_update_dpp(old, value, kControls[kWhich & 7], 15, 15, false);
#else
  constexpr int kNumber = kWhich >> 3 & 15;
  if constexpr ((kWhich & 7) < 3) {  // row_share, row_xmask
    return __builtin_amdgcn_update_dpp(old, value, ((kWhich & 7) == 0 ? 0x150 : 0x160) | kNumber,
                                       15, 15, true);
  } else if constexpr ((kWhich & 7) < 5) {
    return __builtin_amdgcn_mov_dpp8(value, 0x53977 ^ kNumber);
  } else if constexpr ((kWhich & 7) == 5) {
    return __builtin_amdgcn_permlane16(old, value, 0x76543210u ^ kNumber, 0xfedcba98u, true, false);
  } else if constexpr ((kWhich & 7) == 6) {
    return __builtin_amdgcn_permlanex16(old, value, 0x89abcdefu, 0x01234567u ^ kNumber, true,
                                        false);
  } else {
#if defined(__GFX10__)
    return value;
#else
    // It does nothing at all in a wave of 32, so that its result is whatever was there.
    return __builtin_amdgcn_wavefrontsize() == 64 ? __builtin_amdgcn_permlane64(value) : value;
#endif
  }
#endif
#else
  const Group::Wave& wave = WaveSync(id, value);
  const int self = LaneIndex(), size = TheGroup().wave_size;
  const auto of = [&](int lane) { return static_cast<u32>(wave.values[lane]); };
  if (TheGroup().generation == 9) {
    switch (kWhich & 7) {
      case 0:
      case 6:  // a shift to the left by one
        return self + 1 < size ? of(self + 1) : old;
      case 1:  // a rotation
        return of((self + 1) % size);
      case 2:
      case 7:
        return self > 0 ? of(self - 1) : old;
      case 3:
        return of((self + size - 1) % size);
      case 4:  // the last lane of each row to the next row
        return self >= 16 ? of((self & ~15) - 1) : old;
      default:  // lane 31 to both later rows
        return self >= 32 ? of(31) : old;
    }
  }
  constexpr int kNumber = kWhich >> 3 & 15;
  const auto nibble = [](u64 all, int i) { return static_cast<int>(all >> (4 * i) & 15); };
  switch (kWhich & 7) {
    case 0:
      return of((self & ~15) | kNumber);
    case 1:
    case 2:
      return of(self ^ kNumber);
    case 3:
    case 4:
      return of((self & ~7) | ((0x53977 ^ kNumber) >> (3 * (self & 7)) & 7));
    case 5:
      return of((self & ~15) | nibble(0xfedcba9876543210u ^ kNumber, self & 15));
    case 6:
      return of(((self ^ 16) & ~15) |
                nibble(0x0123456789abcdefu ^ (u64{kNumber} << 32), self & 15));
    default:  // the other half of a wave of 64
      return TheGroup().generation == 10 || size == 32 ? value : of(self ^ 32);
  }
#endif
}

template <int kPattern>
HD u32 Swizzle(u32 id, u32 value) {
#if ON_DEVICE
  return __builtin_amdgcn_ds_swizzle(value, kPattern);
#else
  const Group::Wave& wave = WaveSync(id, value);
  const int self = LaneIndex();
  int lane;
  if (kPattern & 0x8000) {
    lane = (self & ~3) | (kPattern >> (2 * (self & 3)) & 3);
  } else {
    lane = (self & 32) |
           ((((self & 31) & (kPattern & 31)) | (kPattern >> 5 & 31)) ^ (kPattern >> 10 & 31));
  }
  return static_cast<u32>(wave.values[lane]);
#endif
}

// Lane numbers are taken modulo the size of a wave.
HD u32 ReadLane(u32 id, u32 value, u32 lane) {
#if ON_DEVICE
  return __builtin_amdgcn_readlane(value, lane & (__builtin_amdgcn_wavefrontsize() - 1));
#else
  return static_cast<u32>(WaveSync(id, value).values[lane & (TheGroup().wave_size - 1)]);
#endif
}
#if ON_DEVICE
__attribute__((device)) u32 WriteLaneBuiltin(u32 value, u32 lane,
                                             u32 rest) __asm("llvm.amdgcn.writelane.i32");
#endif
HD u32 WriteLane(u32 id, u32 value, u32 uniform, u32 lane) {
#if ON_DEVICE
  return WriteLaneBuiltin(__builtin_amdgcn_readfirstlane(uniform),
                          lane & (__builtin_amdgcn_wavefrontsize() - 1), value);
#else
  WaveSync(id, value);
  return LaneIndex() == (lane & (TheGroup().wave_size - 1)) ? uniform : value;
#endif
}

}  // namespace lanes
