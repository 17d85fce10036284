// SPDX-License-Identifier: MIT
//
// What instrumented kernels, the agent and the reader of probe streams agree on, in C, since the
// kernels' side is C. docs/formats/probe-stream.md has the words of each message.
//
//   kernel  --RochoundProbeControl (module variables; the agent fills them)-->  where the ring is
//   kernel  --words-->  ring (host memory that GPUs can write)  --agent-->  file  -->  reader
//
// Positions in the ring count words in 32 bits and begin anew after the last; a position's place is
// its lowest bits; a message that begins near the end goes on in a margin after it. Waves take
// positions with an atomic addition to `state`, write their words, and at last the header, which
// holds the position: what an earlier round left is no header.
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
  kRochoundProbeVersion = 1,      // of the files
  kRochoundProbeRingVersion = 2,  // of control variables and ring
  kRochoundProbeMagic = 0x5250,   // "PR", in the highest bits of a header
  kRochoundProbeKernels = 256,    // as many can be chosen by their kernel objects
  kRochoundProbeMargin = 256,     // words after the ring: a message is in one piece
  kRochoundProbeWaste = 128,      // words after those, for messages that nobody will read
  kRochoundProbeLongest = 67,     // words of the longest message of a wave
};

// Soon before positions begin anew, so that every use of the ring shows that it works.
#define kRochoundProbeFirst 0xffffe000u

enum RochoundProbeKind {
  kRochoundProbeWave = 1,      // a function begins in a wave
  kRochoundProbeAccess = 2,    // an access to memory
  kRochoundProbeBlock = 3,     // a basic block has ended
  kRochoundProbeModule = 16,   // by the agent: a code object was loaded
  kRochoundProbeProcess = 17,  // by the agent: who writes
  kRochoundProbeEnd = 18,      // by the agent: how much was lost so far
  kRochoundProbeMemory = 19,   // by the agent: memory is there, or goes
  // By the agent: those of a dispatch.
  kRochoundProbeArguments = 20,
  kRochoundProbeWritten = 21,         // by the agent: memory that no probe tells about was written
  kRochoundProbeForeignKernel = 22,   // by the agent: a kernel that omniprobe instrumented
  kRochoundProbeForeignMessage = 23,  // by the agent: what such a kernel said (dh_comms)
};

enum RochoundProbeMemoryKind {
  kRochoundProbeFreed = 0,
  kRochoundProbeAllocated = 1,
  kRochoundProbeMapped = 2,  // what is mapped side by side is one buffer to the program
  kRochoundProbeImage = 3,   // of a code object
};

enum RochoundProbeWrittenKind {
  kRochoundProbeWrittenBytes = 0,
  kRochoundProbeWrittenAllocation = 1,  // the one that the address is in
  kRochoundProbeWrittenAll = 2,         // any memory
  kRochoundProbeWritesTold = 3,         // from here on, and everything before, too
  kRochoundProbeWrittenCopy = 4,        // these bytes, with those at a fourth number's address
};

enum {
  kRochoundProbeWaveWords = 17,
  kRochoundProbeAccessWords = 3,  // and one per lane
  kRochoundProbeBlockWords = 6,
};

enum RochoundProbeFlags {
  kRochoundProbeListening = 1,      // 0 in all flags: nobody wants this kernel's messages
  kRochoundProbeThrottle = 2,       // a wave waits for room; otherwise messages are dropped
  kRochoundProbeChosenKernels = 4,  // only those in the ring's list
  kRochoundProbeGroups = 8,   // only group_count workgroups from group_first on, in each direction
  kRochoundProbeSample = 16,  // only dispatches whose number, mixed, is below `sample`
  kRochoundProbeLanes = 32,   // only some lanes
};

// A kernel's own module variable, `__rochound_probe.` and its name; `__rochound_probe` for
// functions that are called. The compiler writes the version. What waves read first is first.
struct RochoundProbeControl {
  rochound_u32 flags;
  rochound_u32 version;
  rochound_u64 words;  // address of the ring's words
  rochound_u32 mask;   // words of the ring - 1; they are a power of two
  rochound_u32 room;   // so far ahead of the reader a wave may be without a closer look
  rochound_u32 limit;  // how many words may be taken before messages are dropped
  rochound_u32 sample;
  rochound_u32 group_first[3];
  rochound_u32 group_count[3];
  rochound_u32 patience;  // how often a wave looks for room before it gives up
  rochound_u32 reserved0;
  rochound_u64 lanes;  // that are reported
  rochound_u64 reserved[7];
};

// The words follow; what waves need most is near them.
struct RochoundProbeRing {
  rochound_u64 kernels[kRochoundProbeKernels];  // kernel objects
  rochound_u64 kernel_count;
  rochound_u64 dropped;  // messages
  rochound_u64 closed;   // not 0: waves neither write nor wait
  rochound_u64 reserved0[5];
  // Lower half: everything before this position was read. Upper half: the position that is taken
  // next. One addition takes a position and tells whether there is room.
  rochound_u64 state;
  rochound_u64 reserved1[7];
};

#endif  // ROCHOUND_PROBE_LAYOUT_H_
