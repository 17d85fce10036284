// SPDX-License-Identifier: MIT
//
// What the pass puts into instrumented kernels. Compiled to bitcode without a GPU's name, so that
// it serves all of them; the pass links it into a module, calls it and inlines the calls. A wave
// writes one message with the addresses of all its active lanes.
#include "probe/layout.h"

typedef rochound_u32 u32;
typedef rochound_u64 u64;
#define GLOBAL __attribute__((address_space(1)))
#define CONSTANT __attribute__((address_space(4)))
#define LDS __attribute__((address_space(3)))
#define PRIVATE __attribute__((address_space(5)))
#define INSIDE __attribute__((always_inline)) static inline

// Nobody writes to it while kernels run, so that scalar loads may read it.
typedef const CONSTANT struct RochoundProbeControl* Control;
typedef GLOBAL struct RochoundProbeRing* Ring;

// The number of the dispatch on its queue. clang has no function for it.
extern u64 DispatchId(void) __asm("llvm.amdgcn.dispatch.id");

INSIDE u64 OfFirstLane(u64 value) {
  return (u64)(u32)__builtin_amdgcn_readfirstlane((int)(value >> 32)) << 32 |
         (u32)__builtin_amdgcn_readfirstlane((int)value);
}

INSIDE u32 LanesBelow(u64 lanes) {
  return __builtin_amdgcn_mbcnt_hi((u32)(lanes >> 32), __builtin_amdgcn_mbcnt_lo((u32)lanes, 0));
}

INSIDE u64 Load(GLOBAL u64* from) {
  return __scoped_atomic_load_n(from, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
}

// By one lane. Whoever compiles this knows that all lanes have the same address, and would add
// instructions that sum up what they add.
INSIDE u64 Add(GLOBAL u64* to, u64 value) {
  u32 nothing;
  __asm__("v_mov_b32 %0, 0" : "=v"(nothing));
  return __scoped_atomic_fetch_add(to + nothing, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
}

// Several waves may have seen the same room. What is taken cannot be given back, so wait. False:
// nobody makes room.
INSIDE int Wait(Control control, Ring ring, u64 end) {
  u32 looks = 0;
  while (end - Load(&ring->read) > control->words) {
    if (++looks > control->patience)
      __scoped_atomic_store_n(&ring->closed, 1ul, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
    if (Load(&ring->closed) != 0) return 0;
    __builtin_amdgcn_s_sleep(8);
  }
  return 1;
}

// The position of so many words; 0: there is no room, and that is counted. By one lane.
INSIDE u64 Take(Control control, Ring ring, u32 words) {
  const u64 read = Load(&ring->read);
  const int waits = (control->flags & kRochoundProbeThrottle) != 0;
  if (waits || Load(&ring->next) - read + words <= control->limit) {
    const u64 at = Add(&ring->next, words);
    if (at + words - read <= control->words || Wait(control, ring, at + words)) return at;
  }
  Add(&ring->dropped, 1);
  return 0;
}

// A message is in one piece: the ring has room for a long one behind its end.
INSIDE GLOBAL u64* Place(Control control, Ring ring, u64 position) {
  return (GLOBAL u64*)(ring + 1) + (position & control->mask);
}

// The header makes the message valid, so it comes after everything else. One lane waits for all:
// a wave's stores are waited for together.
INSIDE void Commit(GLOBAL u64* place, u64 at, u32 words, u32 kind) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
  __scoped_atomic_store_n(
      place, (u64)kRochoundProbeMagic << 48 | (u64)kind << 40 | (u64)words << 32 | (u32)at,
      __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
}

INSIDE u32 Mix(u64 value) {
  value = (value ^ (value >> 33)) * 0xff51afd7ed558ccdul;
  return (u32)(value >> 32) ^ (u32)value;
}

INSIDE int IsChosenKernel(Ring ring, u64 kernel) {
  const u64 count = Load(&ring->kernel_count);
  if (count > kRochoundProbeKernels) return 1;  // more than the list can hold
  for (u64 i = 0; i < count; ++i)
    if (Load(&ring->kernels[i]) == kernel) return 1;
  return 0;
}

// At the beginning of a function that has probes. Returns what its accesses refer to: the position
// of this message, kRochoundProbeLost, or 0 where nothing is to be told.
u64 __rochound_probe_wave(Control control, u64 sites, u32 site) {
  const Ring ring = (Ring)control->ring;
  if (ring == 0 || Load(&ring->closed) != 0) return 0;
  const u32 x = __builtin_amdgcn_workgroup_id_x();
  const u32 y = __builtin_amdgcn_workgroup_id_y();
  const u32 z = __builtin_amdgcn_workgroup_id_z();
  if (x < control->group_first[0] || x >= control->group_end[0] || y < control->group_first[1] ||
      y >= control->group_end[1] || z < control->group_first[2] || z >= control->group_end[2])
    return 0;
  const CONSTANT u64* const packet = (const CONSTANT u64*)__builtin_amdgcn_dispatch_ptr();
  const u64 dispatch = DispatchId();
  if (control->sample != ~0u && Mix(dispatch ^ (u64)packet) >= control->sample) return 0;
  if ((control->flags & kRochoundProbeChosenKernels) != 0 && !IsChosenKernel(ring, packet[4]))
    return 0;

  const u64 lanes = __builtin_amdgcn_read_exec();
  const int first = LanesBelow(lanes) == 0;
  u64 taken = 0;
  if (first) taken = Take(control, ring, kRochoundProbeWaveWords);
  const u64 at = OfFirstLane(taken);
  if (at == 0) return kRochoundProbeLost;
  const u32 item = __builtin_amdgcn_workitem_id_x() | __builtin_amdgcn_workitem_id_y() << 10 |
                   __builtin_amdgcn_workitem_id_z() << 20;
  // Where flat addresses of LDS and scratch are. The compiler must not know the address, which it
  // would take for one that nobody may ask about.
  u32 some;
  __asm__("s_mov_b32 %0, 16" : "=s"(some));
  const u64 shared = (u64)(void*)(LDS char*)some >> 32;
  const u64 private = (u64)(void*)(PRIVATE char*)some >> 32;
  GLOBAL u64* const place = Place(control, ring, at);
  if (first) {
    place[1] = lanes;
    place[2] = site | (u64)__builtin_amdgcn_wavefrontsize() << 32;
    place[3] = sites;
    place[4] = (u64)packet;
    place[5] = dispatch;
    place[6] = x | (u64)y << 32;
    place[7] = z | (u64)item << 32;
    place[8] = shared | private << 32;
    for (u32 i = 0; i < 8; ++i) place[9 + i] = packet[i];
    Commit(place, at, kRochoundProbeWaveWords, kRochoundProbeWave);
  }
  return at;
}

// Before an access. wave: what the function above has returned.
void __rochound_probe_access(Control control, u64 wave, u64 address, u32 site) {
  if (wave == 0) return;
  const Ring ring = (Ring)control->ring;
  if (control->lanes != ~0ul && (control->lanes >> LanesBelow(~0ul) & 1) == 0) return;
  const u64 lanes = __builtin_amdgcn_read_exec();
  const u32 below = LanesBelow(lanes);
  const int first = below == 0;
  const u32 words = kRochoundProbeAccessWords + (u32)__builtin_popcountl(lanes);
  u64 taken = 0;
  if (first) {
    if (wave != kRochoundProbeLost)
      taken = Take(control, ring, words);
    else
      Add(&ring->dropped, 1);
  }
  const u64 at = OfFirstLane(taken);
  if (at == 0) return;
  GLOBAL u64* const place = Place(control, ring, at);
  place[kRochoundProbeAccessWords + below] = address;
  if (first) {
    place[1] = lanes;
    place[2] = site | wave << 32;
    Commit(place, at, words, kRochoundProbeAccess);
  }
}
