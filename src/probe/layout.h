// SPDX-License-Identifier: MIT
//
// What instrumented kernels, the agent and the reader of probe streams agree on, in C, since the
// kernels' side is C. docs/formats/probe-stream.md has the words of each message.
//
//   kernel  --RochoundProbeControl (a module variable; the agent fills it)-->  where the ring is
//   kernel  --words-->  ring (host memory that GPUs can write)  --agent-->  file  -->  reader
//
// Positions in the ring count words from kRochoundProbeFirst and never begin anew; a position's
// place is its lowest bits; a message that begins near the end goes on in a margin behind it. Waves
// take positions with an atomic addition to `next`, write their words, and at last the header,
// which holds the position: what an earlier round left is no header.
#ifndef ROCHOUND_PROBE_LAYOUT_H_
#define ROCHOUND_PROBE_LAYOUT_H_

#ifdef __AMDGCN__
typedef unsigned int rochound_u32;
typedef unsigned long rochound_u64;
#else
#include <stdint.h>
typedef uint32_t rochound_u32;
typedef uint64_t rochound_u64;
#endif

enum {
  kRochoundProbeVersion = 1,
  kRochoundProbeMagic = 0x5250,  // "PR", in the highest bits of a header
  kRochoundProbeFirst = 64,      // positions below stand for other things
  kRochoundProbeLost = 1,        // instead of a position: the wave's first message found no room
  kRochoundProbeKernels = 256,   // as many can be chosen by their kernel objects
  kRochoundProbeMargin = 256,    // words behind the ring: a message is in one piece
};

enum RochoundProbeKind {
  kRochoundProbeWave = 1,      // a function begins in a wave
  kRochoundProbeAccess = 2,    // an access to memory
  kRochoundProbeModule = 16,   // by the agent: a code object was loaded
  kRochoundProbeProcess = 17,  // by the agent: who writes
  kRochoundProbeEnd = 18,      // by the agent: how much was lost so far
};

enum {
  kRochoundProbeWaveWords = 17,
  kRochoundProbeAccessWords = 3,  // and one per lane
};

enum RochoundProbeFlags {
  kRochoundProbeThrottle = 1,       // a wave waits for room; otherwise messages are dropped
  kRochoundProbeChosenKernels = 2,  // only those in the ring's list
};

// The module variable `__rochound_probe`. The compiler writes the version.
struct RochoundProbeControl {
  rochound_u64 version;
  rochound_u64 ring;   // address; 0: nobody listens
  rochound_u64 words;  // a power of two
  rochound_u64 mask;   // words - 1
  rochound_u64 limit;  // how many of them may be taken before messages are dropped
  rochound_u64 flags;
  rochound_u64 lanes;  // that are reported
  rochound_u32 group_first[3];
  rochound_u32 group_end[3];  // one past the last
  rochound_u32 sample;        // dispatches whose number, mixed, is below; ~0: all
  rochound_u32 patience;      // how often a wave looks for room before it gives up
  rochound_u64 reserved[5];
};

// The words follow.
struct RochoundProbeRing {
  rochound_u64 next;  // position that is taken next
  rochound_u64 reserved0[7];
  rochound_u64 read;  // everything before was read
  rochound_u64 reserved1[7];
  rochound_u64 dropped;  // messages
  rochound_u64 closed;   // not 0: waves neither write nor wait
  rochound_u64 kernel_count;
  rochound_u64 reserved2[5];
  rochound_u64 kernels[kRochoundProbeKernels];  // kernel objects
};

#endif  // ROCHOUND_PROBE_LAYOUT_H_
