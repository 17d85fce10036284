// SPDX-License-Identifier: MIT
//
// Where DS instructions go: used by those that run them (lds.cpp) and by those that only look
// (memory_trace.cpp). A lane is at MemoryForm::address plus an offset, as a 32-bit sum.
#pragma once

#include "softgpu/isa/semantics/lane_memory.h"

namespace rochound::softgpu {

// Op::imm holds the byte offset; for the two-address forms, one in each half.
inline uint32_t FirstOffset(const Op* op) { return static_cast<uint32_t>(op->imm); }
inline uint32_t SecondOffset(const Op* op) {
  return static_cast<uint32_t>(static_cast<uint64_t>(op->imm) >> 32);
}

// Instructions that load to LDS put the first lane's data at M0 (gfx950's LDS needs more than 16
// bits of it) and a lane's dword 4 bytes after the one before, or several dwords 16 bytes.
inline uint32_t LoadToLdsBase(const Wave& wave) {
  return wave.sgpr[kM0] & (wave.architecture->bit & kGfx950 ? 0x3FFFFu : 0xFFFFu);
}
constexpr unsigned LoadToLdsStep(unsigned bytes) { return bytes <= 4 ? 4 : 16; }

}  // namespace rochound::softgpu
