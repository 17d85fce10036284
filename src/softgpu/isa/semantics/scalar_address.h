// SPDX-License-Identifier: MIT
//
// Where SMEM instructions go: used by those that run them (scalar_memory.cpp) and by those that
// only look (memory_trace.cpp). Reads registers, changes nothing.
#pragma once

#include "softgpu/isa/semantics/lane_memory.h"

namespace rochound::softgpu {

// MemoryForm::address is the base, ::scalar the offset register, ::data what is moved. Op::imm is
// the immediate offset.

enum class ScalarBase : uint8_t { kAddress, kBuffer, kScratch };

inline uint64_t RegisterOffset(const Wave& wave, MemoryForm form) {
  return form.scalar == MemoryForm::kAbsent ? 0 : wave.sgpr[form.scalar];
}

// Where `dwords` dwords are, and how many of them are inside of the buffer.
struct ScalarPlace {
  uint64_t address = 0;
  unsigned inside = 0;
};

template <ScalarBase B>
inline ScalarPlace Locate(const Wave& wave, const Op* op, unsigned dwords) {
  MemoryForm form = MemoryForm::Of(op);
  uint64_t immediate = static_cast<uint64_t>(op->imm);
  uint64_t offset = RegisterOffset(wave, form);
  if constexpr (B == ScalarBase::kAddress) {
    return {(wave.Pair(form.address) + offset + immediate) & ~uint64_t{3}, dwords};
  } else if constexpr (B == ScalarBase::kScratch) {
    // The register counts in units of 64 bytes.
    return {(wave.Pair(form.address) + offset * 64 + immediate) & ~uint64_t{3}, dwords};
  } else {
    const uint32_t* words = &wave.sgpr[form.address];
    uint64_t base = words[0] | uint64_t{words[1] & 0xFFFF} << 32;
    uint64_t stride = words[1] >> 16 & 0x3FFF;
    uint64_t size = stride == 0 ? words[2] : stride * words[2];
    uint64_t at = (offset + immediate) & ~uint64_t{3};
    unsigned inside = 0;
    while (inside < dwords && at + 4 * inside < size) ++inside;
    return {(base + at) & ~uint64_t{3}, inside};
  }
}

}  // namespace rochound::softgpu
