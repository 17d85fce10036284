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

// What each GPU has its own instructions for: the pass writes them. Waits until the wave's stores
// have arrived.
extern void WaitForStores(void) __asm("__rochound_probe_wait_for_stores");
// Adds to the state of the ring in the one lane whose `below` is 0, and returns what it was before
// in that lane. A branch around an atomic addition of C would do the same, but the compiler
// arranges all branches nearby around one that lanes do not take together.
extern u64 AddToState(u64 ring_words, u64 value, u32 nothing,
                      u32 below) __asm("__rochound_probe_add_to_state");

// In the upper half of what a wave is to know: why its messages need care.
enum { kSimple = 0, kCareful = 1, kLost = 2 };

// A position that was taken; 0: none was.
enum { kTaken = 1 };

INSIDE Ring RingOf(u64 words) { return (Ring)words - 1; }

INSIDE u32 OfFirstLane32(u32 value) { return (u32)__builtin_amdgcn_readfirstlane((int)value); }

INSIDE u64 OfFirstLane(u64 value) {
  return (u64)OfFirstLane32((u32)(value >> 32)) << 32 | OfFirstLane32((u32)value);
}

INSIDE u32 LanesBelow(u64 lanes) {
  return __builtin_amdgcn_mbcnt_hi((u32)(lanes >> 32), __builtin_amdgcn_mbcnt_lo((u32)lanes, 0));
}

INSIDE u64 Load(GLOBAL u64* from) {
  return __scoped_atomic_load_n(from, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
}

INSIDE void Store(GLOBAL u64* to, u64 value) {
  __scoped_atomic_store_n(to, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
}

// Values in registers of lanes, whatever the compiler knows about them: it would compute with
// scalar registers first, or keep constants in registers for the whole kernel.
INSIDE u32 InLanes(u32 value) {
  u32 moved;
  __asm__ volatile("v_mov_b32 %0, %1" : "=v"(moved) : "is"(value));
  return moved;
}

INSIDE u64 Pair(u32 low, u32 high) { return (u64)high << 32 | low; }

// Takes positions: the state before, in the lane whose `below` is 0. words is in a register of
// lanes.
INSIDE u64 Advance(u64 ring_words, u32 words, u32 below) {
  const u32 nothing = InLanes(0);
  return AddToState(ring_words, Pair(nothing, words), nothing, below);
}

// Without a branch, around which the compiler would arrange all others.
INSIDE void CountDropped(Ring ring, u32 below) {
  u32 nothing;
  __asm__("v_mov_b32 %0, 0" : "=v"(nothing));
  __scoped_atomic_fetch_add(&ring->dropped + nothing, below == 0 ? 1ul : 0ul, __ATOMIC_RELAXED,
                            __MEMORY_SCOPE_SYSTEM);
}

// Several waves may have seen the same room. What is taken cannot be given back, so wait. False:
// nobody makes room.
INSIDE int Wait(Control control, Ring ring, u32 end) {
  u32 looks = 0;
  while (end - OfFirstLane32((u32)Load(&ring->state)) > control->mask + 1) {
    if (++looks > control->patience) Store(&ring->closed, 1);
    if (OfFirstLane(Load(&ring->closed)) != 0) return 0;
    __builtin_amdgcn_s_sleep(8);
  }
  return 1;
}

// The position of so many words, and kTaken above it; 0: there is no room, and that is counted.
// below is 0 in the first of these lanes only.
INSIDE u64 Take(Control control, Ring ring, u32 words, u64 lanes, u32 below) {
  const u64 state = OfFirstLane(Load(&ring->state));
  if ((control->flags & kRochoundProbeThrottle) != 0 ||
      (u32)(state >> 32) - (u32)state + words <= control->limit) {
    const u64 before = Advance((u64)(ring + 1), InLanes(words), below);
    const u32 at = (u32)__builtin_amdgcn_readlane((int)(before >> 32), __builtin_ctzl(lanes));
    if (Wait(control, ring, at + words)) return (u64)kTaken << 32 | at;
  }
  CountDropped(ring, below);
  return 0;
}

// A message is in one piece: the ring has room for a long one after its end. The offset is in a
// register of lanes, as instructions want it; the compiler would add the uniform one to the base.
INSIDE u32 InBytes(u32 words) {
  u32 bytes;
  __asm__("v_lshlrev_b32 %0, 3, %1" : "=v"(bytes) : "s"(words));
  return bytes;
}

INSIDE GLOBAL u64* Place(u64 words, u32 offset) {
  return (GLOBAL u64*)((GLOBAL char*)words + (u64)offset);
}

// All lanes write the words that are the wave's: that is one access to memory all the same, and
// needs no branch. The header makes the message valid, so it comes after everything else.
INSIDE void Commit(GLOBAL u64* place, u32 at, u32 words, u32 kind) {
  WaitForStores();
  Store(place, Pair(InLanes(at), InLanes(words + (kRochoundProbeMagic << 16 | kind << 8))));
}

INSIDE u32 Mix(u64 value) {
  value = (value ^ (value >> 33)) * 0xff51afd7ed558ccdul;
  return (u32)(value >> 32) ^ (u32)value;
}

INSIDE int IsChosenKernel(Ring ring, u64 kernel) {
  const u64 count = OfFirstLane(Load(&ring->kernel_count));
  if (count > kRochoundProbeKernels) return 1;  // more than the list can hold
  for (u64 i = 0; i < count; ++i)
    if (OfFirstLane(Load(&ring->kernels[i])) == kernel) return 1;
  return 0;
}

INSIDE const CONSTANT u64* Packet(void) {
  return (const CONSTANT u64*)__builtin_amdgcn_dispatch_ptr();
}

// At the beginning of a function that has probes: whether this wave is to say anything. Where it is
// not, which is how most waves answer, this is nearly all that it executes more.
u32 __rochound_probe_wanted(Control control) {
  __asm__("" : "+s"(control));  // one address for all loads
  const u32 flags = control->flags;
  if (flags == 0) return 0;
  const Ring ring = RingOf(control->words);
  if ((flags & kRochoundProbeGroups) != 0) {
    const u32 x = __builtin_amdgcn_workgroup_id_x() - control->group_first[0];
    const u32 y = __builtin_amdgcn_workgroup_id_y() - control->group_first[1];
    const u32 z = __builtin_amdgcn_workgroup_id_z() - control->group_first[2];
    if ((x >= control->group_count[0]) | (y >= control->group_count[1]) |
        (z >= control->group_count[2]))
      return 0;
  }
  if ((flags & kRochoundProbeSample) != 0 && Mix(DispatchId() ^ (u64)Packet()) >= control->sample)
    return 0;
  if ((flags & kRochoundProbeChosenKernels) != 0 && !IsChosenKernel(ring, Packet()[4])) return 0;
  return OfFirstLane(Load(&ring->closed)) == 0;
}

INSIDE u64 Begin(Control control, u64 sites, u32 site) {
  __asm__("" : "+s"(control));
  const Ring ring = RingOf(control->words);
  const CONSTANT u64* const packet = Packet();
  const u64 lanes = __builtin_amdgcn_read_exec();
  const u32 below = LanesBelow(lanes);
  const u64 taken = Take(control, ring, kRochoundProbeWaveWords, lanes, below);
  if (taken == 0) return (u64)kLost << 32;
  const u32 at = (u32)taken;
  const u32 item = __builtin_amdgcn_workitem_id_x() | __builtin_amdgcn_workitem_id_y() << 10 |
                   __builtin_amdgcn_workitem_id_z() << 20;
  // Where flat addresses of LDS and scratch are. The compiler must not know the address, which it
  // would take for one that nobody may ask about.
  u32 some;
  __asm__("s_mov_b32 %0, 16" : "=s"(some));
  const u64 shared = (u64)(void*)(LDS char*)some >> 32;
  const u64 private = (u64)(void*)(PRIVATE char*)some >> 32;
  GLOBAL u64* const place = Place(control->words, InBytes(at & control->mask));
  Store(place + 1, lanes);
  Store(place + 2, site | (u64)__builtin_amdgcn_wavefrontsize() << 32);
  Store(place + 3, sites);
  Store(place + 4, (u64)packet);
  Store(place + 5, DispatchId());
  Store(place + 6, Pair(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y()));
  Store(place + 7, Pair(__builtin_amdgcn_workgroup_id_z(), OfFirstLane32(item)));
  Store(place + 8, shared | private << 32);
  for (u32 i = 0; i < 8; ++i) Store(place + 9 + i, packet[i]);
  Commit(place, at, kRochoundProbeWaveWords, kRochoundProbeWave);
  const u32 simple = kRochoundProbeThrottle;
  return Pair(at, (control->flags & (simple | kRochoundProbeLanes)) == simple ? kSimple : kCareful);
}

// Then, if it is: the function begins. Returns what its accesses refer to: the position of this
// message, and above it, whether they need care. The same in all lanes, as the compiler must know.
u64 __rochound_probe_wave(Control control, u64 sites, u32 site) {
  return OfFirstLane(Begin(control, sites, site));
}

INSIDE void Write(u64 ring_words, u32 place, u32 at, u64 lanes, u32 below, u32 wave, u64 address,
                  u32 site) {
  const u32 offset = InBytes(place);
  Store(Place(ring_words, offset + below * 8) + kRochoundProbeAccessWords, address);
  GLOBAL u64* const message = Place(ring_words, offset);
  Store(message + 1, lanes);
  Store(message + 2, Pair(InLanes(site), InLanes(wave)));
  Commit(message, at, kRochoundProbeAccessWords + (u32)__builtin_popcountl(lanes),
         kRochoundProbeAccess);
}

// Before an access, when not all lanes are wanted, or messages may be dropped. wave: what the
// function above has returned. The control's words, mask and room are handed over: they stay in
// registers.
void __rochound_probe_access_carefully(Control control, u64 ring_words, u32 mask, u32 room,
                                       u64 wave, u64 address, u32 site) {
  (void)room;
  const Ring ring = RingOf(ring_words);
  const u64 lanes = __builtin_amdgcn_read_exec() & control->lanes;
  if (lanes == 0) return;
  // What is not wanted goes where word 2 will be written.
  const u32 wanted = (u32)(control->lanes >> LanesBelow(~0ul)) & 1;
  const u32 below = LanesBelow(lanes) | (wanted - 1);
  if (wave >> 32 == kLost) {
    CountDropped(ring, below);
    return;
  }
  const u32 words = kRochoundProbeAccessWords + (u32)__builtin_popcountl(lanes);
  const u64 taken = Take(control, ring, words, lanes, below);
  if (taken == 0) return;
  Write(ring_words, (u32)taken & mask, (u32)taken, lanes, below, (u32)wave, address, site);
}

// The same for messages of all lanes, which are never dropped. Nothing here may branch but to what
// is seldom needed, and from there back to the same place: the compiler adds instructions to
// everything else. Returns where the message goes; words is in a register of lanes, and increased,
// in one instruction.
INSIDE u32 TakeAlways(Control control, u64 ring_words, u32 mask, u32 room, u32 count, u32 below,
                      u32* at) {
  u32 words;
  __asm__("v_lshl_add_u32 %0, %1, 0, %2"
          : "=v"(words)
          : "s"(count), "n"(kRochoundProbeAccessWords));
  const u64 before = Advance(ring_words, words, below);
  *at = OfFirstLane32((u32)(before >> 32));
  const u32 read = OfFirstLane32((u32)before);
  u32 place = *at & mask;
  if (__builtin_expect(*at - read > room, 0)) {
    __asm__("" : "+s"(count));  // what is seldom needed is not computed beforehand
    if (!Wait(control, RingOf(ring_words), *at + kRochoundProbeAccessWords + count)) {
      CountDropped(RingOf(ring_words), below);
      place = mask + 1 + kRochoundProbeMargin;  // where nobody reads
    }
  }
  return place;
}

void __rochound_probe_access(Control control, u64 ring_words, u32 mask, u32 room, u64 wave,
                             u64 address, u32 site) {
  const u64 lanes = __builtin_amdgcn_read_exec();
  const u32 below = LanesBelow(lanes);
  u32 at;
  const u32 place =
      TakeAlways(control, ring_words, mask, room, (u32)__builtin_popcountl(lanes), below, &at);
  Write(ring_words, place, at, lanes, below, (u32)wave, address, site);
}

INSIDE void WriteBlock(u64 ring_words, u32 place, u32 at, u64 lanes, u32 wave, u64 began,
                       u64 cycles, u64 way, u32 site) {
  GLOBAL u64* const message = Place(ring_words, InBytes(place));
  Store(message + 1, lanes);
  Store(message + 2, Pair(InLanes(site), InLanes(wave)));
  Store(message + 3, began);
  Store(message + 4, cycles);
  Store(message + 5, way & lanes);
  Commit(message, at, kRochoundProbeBlockWords, kRochoundProbeBlock);
}

// At the end of a basic block: the clock at its beginning, how many bits the clock has, and the
// lanes that go one of its ways. The time does not include this message.
void __rochound_probe_block(Control control, u64 ring_words, u32 mask, u32 room, u64 wave,
                            u64 began, u64 clock_bits, u64 way, u32 site) {
  const u64 cycles = (__builtin_readcyclecounter() - began) & clock_bits;
  const u64 lanes = __builtin_amdgcn_read_exec();
  u32 at;
  const u32 place =
      TakeAlways(control, ring_words, mask, room,
                 kRochoundProbeBlockWords - kRochoundProbeAccessWords, LanesBelow(lanes), &at);
  WriteBlock(ring_words, place, at, lanes, (u32)wave, began, cycles, way, site);
}

void __rochound_probe_block_carefully(Control control, u64 ring_words, u32 mask, u32 room, u64 wave,
                                      u64 began, u64 clock_bits, u64 way, u32 site) {
  (void)room;
  const u64 cycles = (__builtin_readcyclecounter() - began) & clock_bits;
  const Ring ring = RingOf(ring_words);
  const u64 active = __builtin_amdgcn_read_exec();
  const u64 lanes = active & control->lanes;
  if (lanes == 0) return;
  const u32 below = LanesBelow(active);
  if (wave >> 32 == kLost) {
    CountDropped(ring, below);
    return;
  }
  const u64 taken = Take(control, ring, kRochoundProbeBlockWords, active, below);
  if (taken == 0) return;
  WriteBlock(ring_words, (u32)taken & mask, (u32)taken, lanes, (u32)wave, began, cycles, way, site);
}
