// SPDX-License-Identifier: MIT
//
// What a random kernel may do that is not plain C++: find its place, wait for its workgroup, talk
// to the lanes of its wave, change memory atomically. Included by every generated file (by way of
// harness.h). Each function exists twice under one name: on the device it is HIP's, on the host it
// is a model of it. On the host each work item is a fibre on the calling thread; those of one
// workgroup take turns and yield wherever they depend on each other. A wave operation waits for all
// lanes of the wave that come to the same operation in the same iteration of the loops around it,
// which is what structured control flow means on a GPU.
//
// Rules for who generates: barriers and shuffles only where all lanes come; wave operations never
// in a loop that some lanes leave or continue early from the middle (the compiler may then move a
// block out of the loop).
#pragma once

#include <hip/hip_runtime.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#define HD __host__ __device__ inline __attribute__((always_inline))
#define HD_CALL __host__ __device__ __attribute__((noinline))

namespace lanes {

struct Lane {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  uint32_t thread = 0, index = 0, wave = 0;
  enum { kRuns, kAtBarrier, kAtWave, kDone } state = kRuns;
  std::vector<uint32_t> path;     // loops around here: id and iteration, outermost first
  std::vector<uint32_t> waiting;  // path and the operation waited at
  uint64_t value = 0;
};

// One workgroup at a time.
struct Group {
  std::vector<Lane> lanes;
  ucontext_t scheduler;
  Lane* now = nullptr;
  uint32_t wave_size = 64;
  // By lane of the wave whose operation was completed last; valid until the lane that looks yields
  // again.
  struct Wave {
    uint64_t active = 0;
    uint64_t values[64];
  };
  std::vector<Wave> waves;
  void (*body)(void*, uint32_t) = nullptr;
  void* body_data = nullptr;
};

inline Group& TheGroup() {
  static Group group;
  return group;
}

inline void Yield() {
  Group& group = TheGroup();
  swapcontext(&group.now->context, &group.scheduler);
}

inline const Group::Wave& WaveSync(uint32_t id, uint64_t value) {
  Group& group = TheGroup();
  Lane& lane = *group.now;
  lane.value = value;
  lane.waiting = lane.path;
  lane.waiting.push_back(id);
  lane.state = Lane::kAtWave;
  Yield();
  return group.waves[lane.wave];
}

inline void Fibre() {
  Group& group = TheGroup();
  group.body(group.body_data, group.now->thread);
  group.now->state = Lane::kDone;
  Yield();
}

// Runs body(data, thread) for all threads of one workgroup. False: some lanes wait for what never
// comes.
inline bool RunGroup(uint32_t threads, uint32_t wave_size, void (*body)(void*, uint32_t),
                     void* data) {
  constexpr size_t kStack = 128 << 10;
  Group& group = TheGroup();
  group.wave_size = wave_size;
  group.body = body;
  group.body_data = data;
  group.lanes.resize(threads);
  group.waves.resize((threads + wave_size - 1) / wave_size);
  for (uint32_t thread = 0; thread < threads; ++thread) {
    Lane& lane = group.lanes[thread];
    lane.thread = thread;
    lane.index = thread % wave_size;
    lane.wave = thread / wave_size;
    lane.state = Lane::kRuns;
    lane.path.clear();
    if (!lane.stack) lane.stack.reset(new char[kStack]);
    getcontext(&lane.context);
    lane.context.uc_stack.ss_sp = lane.stack.get();
    lane.context.uc_stack.ss_size = kStack;
    lane.context.uc_link = nullptr;
    makecontext(&lane.context, Fibre, 0);
  }
  while (true) {
    for (Lane& lane : group.lanes) {
      if (lane.state != Lane::kRuns) continue;
      group.now = &lane;
      swapcontext(&group.scheduler, &lane.context);
    }
    bool released = false, at_barrier = false;
    for (uint32_t wave = 0; wave < group.waves.size(); ++wave) {
      // The operation that stands first in the program is complete: whoever is not there is behind
      // it already.
      const std::vector<uint32_t>* first = nullptr;
      for (Lane& lane : group.lanes) {
        if (lane.wave == wave && lane.state == Lane::kAtWave && (!first || lane.waiting < *first)) {
          first = &lane.waiting;
        }
      }
      if (!first) continue;
      const std::vector<uint32_t> place = *first;
      Group::Wave& shared = group.waves[wave];
      shared.active = 0;
      for (Lane& lane : group.lanes) {
        if (lane.wave != wave || lane.state != Lane::kAtWave || lane.waiting != place) continue;
        shared.active |= uint64_t{1} << lane.index;
        shared.values[lane.index] = lane.value;
        lane.state = Lane::kRuns;
        released = true;
      }
    }
    if (released) continue;
    for (Lane& lane : group.lanes) {
      if (lane.state == Lane::kAtBarrier) {
        lane.state = Lane::kRuns;
        at_barrier = true;
      }
    }
    if (!at_barrier) return true;
  }
}

#ifdef __HIP_DEVICE_COMPILE__
#define ON_DEVICE 1
#else
#define ON_DEVICE 0
#endif

HD void Barrier() {
#if ON_DEVICE
  __syncthreads();
#else
  TheGroup().now->state = Lane::kAtBarrier;
  Yield();
#endif
}

// Around a loop with wave operations in it; Step() at the start of each iteration.
struct Loop {
  HD explicit Loop(uint32_t id) {
#if !ON_DEVICE
    TheGroup().now->path.push_back(id);
    TheGroup().now->path.push_back(0);
#endif
  }
  HD ~Loop() {
#if !ON_DEVICE
    TheGroup().now->path.pop_back();
    TheGroup().now->path.pop_back();
#endif
  }
  HD void Step() {
#if !ON_DEVICE
    ++TheGroup().now->path.back();
#endif
  }
};

template <typename T>
HD uint64_t ToBits(T value) {
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <typename T>
HD T OfBits(uint64_t bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

HD uint32_t LaneIndex() {
#if ON_DEVICE
  return __lane_id();
#else
  return TheGroup().now->index;
#endif
}

HD uint32_t WaveSize() {
#if ON_DEVICE
  return __builtin_amdgcn_wavefrontsize();
#else
  return TheGroup().wave_size;
#endif
}

// --- where some lanes may be elsewhere
HD uint64_t Ballot(uint32_t id, bool vote) {
#if ON_DEVICE
  return __ballot(vote);
#else
  const Group::Wave& wave = WaveSync(id, vote);
  uint64_t result = 0;
  for (int lane = 0; lane < 64; ++lane) {
    if ((wave.active >> lane & 1) && wave.values[lane]) result |= uint64_t{1} << lane;
  }
  return result;
#endif
}

HD bool Any(uint32_t id, bool vote) {
#if ON_DEVICE
  return __any(vote);
#else
  return Ballot(id, vote) != 0;
#endif
}

HD bool All(uint32_t id, bool vote) {
#if ON_DEVICE
  return __all(vote);
#else
  return Ballot(id, !vote) == 0;
#endif
}

HD uint32_t FirstLane(uint32_t id, uint32_t value) {
#if ON_DEVICE
  return __builtin_amdgcn_readfirstlane(value);
#else
  const Group::Wave& wave = WaveSync(id, value);
  return static_cast<uint32_t>(wave.values[__builtin_ctzll(wave.active)]);
#endif
}

HD uint32_t CountBelow(uint64_t mask) {
#if ON_DEVICE
  return __builtin_amdgcn_mbcnt_hi(mask >> 32, __builtin_amdgcn_mbcnt_lo(mask, 0));
#else
  return __builtin_popcountll(mask & ((uint64_t{1} << TheGroup().now->index) - 1));
#endif
}

// --- where all lanes of the wave are
template <typename T>
HD T Shuffle(uint32_t id, T value, int source, int width) {
#if ON_DEVICE
  return __shfl(value, source, width);
#else
  const int self = LaneIndex();
  const int lane = (source & (width - 1)) + (self & ~(width - 1));
  return OfBits<T>(WaveSync(id, ToBits(value)).values[lane]);
#endif
}

template <typename T>
HD T ShuffleXor(uint32_t id, T value, int mask, int width) {
#if ON_DEVICE
  return __shfl_xor(value, mask, width);
#else
  const int self = LaneIndex();
  int lane = self ^ mask;
  if (lane >= ((self + width) & ~(width - 1))) lane = self;
  return OfBits<T>(WaveSync(id, ToBits(value)).values[lane]);
#endif
}

template <typename T>
HD T ShuffleUp(uint32_t id, T value, int delta, int width) {
#if ON_DEVICE
  return __shfl_up(value, delta, width);
#else
  const int self = LaneIndex();
  int lane = self - delta;
  if (lane < (self & ~(width - 1))) lane = self;
  return OfBits<T>(WaveSync(id, ToBits(value)).values[lane]);
#endif
}

template <typename T>
HD T ShuffleDown(uint32_t id, T value, int delta, int width) {
#if ON_DEVICE
  return __shfl_down(value, delta, width);
#else
  const int self = LaneIndex();
  const int lane = (self & (width - 1)) + delta >= width ? self : self + delta;
  return OfBits<T>(WaveSync(id, ToBits(value)).values[lane]);
#endif
}

// DPP, the controls that gfx9 to gfx12 have in common: quad permutations, shifts and rotations in a
// row, mirrors.
template <int kControl, int kRowMask, int kBankMask, bool kBoundControl>
HD uint32_t Dpp(uint32_t id, uint32_t old, uint32_t value) {
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
  if (lane < 0 || lane > 15) return kBoundControl ? 0 : old;
  return static_cast<uint32_t>(wave.values[row + lane]);
#endif
}

template <int kPattern>
HD uint32_t Swizzle(uint32_t id, uint32_t value) {
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
  return static_cast<uint32_t>(wave.values[lane]);
#endif
}

HD uint32_t ReadLane(uint32_t id, uint32_t value, uint32_t lane) {
#if ON_DEVICE
  return __builtin_amdgcn_readlane(value, lane & 31);
#else
  return static_cast<uint32_t>(WaveSync(id, value).values[lane & 31]);
#endif
}

// --- atomics
enum AtomicKind { kAdd, kMin, kMax, kAnd, kOr, kXor, kSub, kCasAdd };

template <AtomicKind kKind, typename T>
HD T Combine(T old, T value) {
  switch (kKind) {
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
    case kSub:
      return static_cast<T>(static_cast<uint64_t>(old) - static_cast<uint64_t>(value));
    default:
      return static_cast<T>(static_cast<uint64_t>(old) + static_cast<uint64_t>(value));
  }
}

template <AtomicKind kKind, typename T>
HD T Atomic(T* cell, T value) {
#if ON_DEVICE
  switch (kKind) {
    case kAdd:
      return __hip_atomic_fetch_add(cell, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    case kMin:
      return __hip_atomic_fetch_min(cell, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    case kMax:
      return __hip_atomic_fetch_max(cell, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    case kAnd:
      return __hip_atomic_fetch_and(cell, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    case kOr:
      return __hip_atomic_fetch_or(cell, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    case kXor:
      return __hip_atomic_fetch_xor(cell, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    case kSub:
      return __hip_atomic_fetch_sub(cell, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    default: {
      T old = __hip_atomic_load(cell, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
      while (!__hip_atomic_compare_exchange_strong(cell, &old, Combine<kAdd, T>(old, value),
                                                   __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                   __HIP_MEMORY_SCOPE_AGENT)) {
      }
      return old;
    }
  }
#else
  const T old = *cell;
  *cell = Combine<kKind, T>(old, value);
  return old;
#endif
}

// Sums of small whole numbers, which no order of rounding changes.
template <typename T>
HD void AtomicAddReal(T* cell, T value) {
#if ON_DEVICE
  unsafeAtomicAdd(cell, value);
#else
  *cell += value;
#endif
}

}  // namespace lanes
