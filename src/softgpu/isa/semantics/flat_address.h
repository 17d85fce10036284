// SPDX-License-Identifier: MIT
//
// Where flat_*, global_* and scratch_* instructions go, by the form that their operands have: used
// by those that run them (flat.cpp) and by those that only look (memory_trace.cpp). Reads
// registers, changes nothing.
#pragma once

#include "softgpu/isa/semantics/lane_memory.h"
#include "softgpu/isa/semantics/private_memory.h"

namespace rochound::softgpu {

// False if the lanes' addresses differ in their upper halves.
template <AddressKind K>
inline bool NarrowAddresses(const Wave& wave, const Op* op, MemoryForm form, uint64_t mask,
                            LaneAddresses* addresses) {
  uint64_t offset = static_cast<uint64_t>(op->imm);
  addresses->offset = wave.Row(form.address);
  if (K == AddressKind::kGlobal && form.scalar != MemoryForm::kAbsent) {
    addresses->base = wave.Pair(form.scalar) + offset;
    return true;
  }
  const uint32_t* upper = wave.Row(form.address + 1u);
  if (!IsUniform(upper, mask, mask == wave.full_exec, wave.lanes)) return false;
  addresses->base = (uint64_t{upper[std::countr_zero(mask)]} << 32) + offset;
  return true;
}

inline void WidenPairs(const Wave& wave, const Op* op, MemoryForm form, WideAddresses* wide) {
  const uint32_t* lower = wave.Row(form.address);
  const uint32_t* upper = wave.Row(form.address + 1u);
  uint64_t offset = static_cast<uint64_t>(op->imm);
  for (unsigned i = 0; i < wave.lanes; ++i)
    wide->at[i] = (lower[i] | uint64_t{upper[i]} << 32) + offset;
}

// The address of a scratch_* instruction: vaddr, saddr or both may be off.
inline PrivateAddresses ScratchAddresses(const Wave& wave, const Op* op, MemoryForm form) {
  PrivateAddresses addresses;
  addresses.base = static_cast<uint32_t>(op->imm);
  if (form.scalar != MemoryForm::kAbsent) addresses.base += wave.sgpr[form.scalar];
  if (form.address != MemoryForm::kAbsent) addresses.offset = wave.Row(form.address);
  return addresses;
}

// Lanes that follow each other dword by dword (*_addtid).
inline LaneAddresses ThreadIdAddresses(const Wave& wave, const Op* op) {
  MemoryForm form = MemoryForm::Of(op);
  uint64_t base = form.scalar == MemoryForm::kAbsent ? 0 : wave.Pair(form.scalar);
  return {base + static_cast<uint64_t>(op->imm), kLaneTimesFour.data()};
}
}  // namespace rochound::softgpu
