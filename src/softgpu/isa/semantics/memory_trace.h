// SPDX-License-Identifier: MIT
//
// Where the memory instruction at hand is about to go: every lane's addresses, by the same address
// code that runs it, without touching memory. For the counters, which call it on the thread that
// runs the wave, just before the instruction. Pure reading; a form that is not known gives nothing.
#pragma once

#include <array>
#include <cstdint>

#include "softgpu/isa/wave.h"

namespace rochound::softgpu {

// How an instruction's operands name its addresses.
enum class AddressForm : uint8_t {
  kNone,
  kFlat,
  kGlobal,
  kGlobalThreadId,  // *_addtid
  kScratch,
  kBuffer,
  kTypedBuffer,    // the descriptor's format
  kTypedEncoding,  // the encoding's format
  kLds,
  kLdsPair,      // two places per lane
  kLdsThreadId,  // M0 + offset + 4 * lane
  kLdsCounter,   // one place for the whole wave
  kScalar,
  kScalarBuffer,
  kScalarScratch,
};

enum class MemorySpace : uint8_t { kGlobal, kLds, kScratch, kScalar };
inline constexpr unsigned kMemorySpaces = 4;

// Bytes that follow each other. In LDS the address is the offset in LDS; scratch is where it lies
// in memory, with the lanes' dwords interleaved.
struct MemoryPart {
  uint64_t address = 0;
  MemorySpace space = MemorySpace::kGlobal;
  uint8_t bytes = 0;
  uint8_t lane = 0;
};

struct MemoryTrace {
  static constexpr unsigned kMaxParts = kRowLanes * 8;
  std::array<MemoryPart, kMaxParts> parts;
  unsigned count = 0;

  void Add(const MemoryPart& part) {
    if (part.bytes != 0 && count < kMaxParts) parts[count++] = part;
  }
};

// `bytes` is what a lane moves (at each of its places), or the scalar unit as a whole; typed
// buffers know it themselves. Replaces what the trace held.
void TraceMemory(const Wave& wave, const Op* op, AddressForm form, unsigned bytes,
                 MemoryTrace* trace);

// Adds where "load to LDS" instructions put `bytes` per lane.
void TraceLoadedToLds(const Wave& wave, const Op* op, AddressForm form, unsigned bytes,
                      MemoryTrace* trace);

}  // namespace rochound::softgpu
