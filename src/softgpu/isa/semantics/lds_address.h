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

}  // namespace rochound::softgpu
