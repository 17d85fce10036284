// SPDX-License-Identifier: MIT
//
// What one memory instruction asks of the hardware, from the addresses of its lanes: cache lines,
// and LDS cycles with their conflicts. The rules are described in docs/softgpu-counters.md. Pure
// functions.
#pragma once

#include <cstdint>
#include <span>

#include "softgpu/counters/target_rules.h"
#include "softgpu/isa/semantics/memory_trace.h"

namespace rochound::softgpu {

// Distinct lines that the parts of this space touch.
unsigned CountLines(std::span<const MemoryPart> parts, MemorySpace space, uint32_t line_bytes);

struct LdsCost {
  unsigned cycles = 0;             // groups of lanes, plus conflicts
  unsigned bank_conflicts = 0;     // cycles since lanes want different dwords of one bank
  unsigned address_conflicts = 0;  // cycles since atomics of several lanes want the same dword

  LdsCost& operator+=(const LdsCost& other) {
    cycles += other.cycles;
    bank_conflicts += other.bank_conflicts;
    address_conflicts += other.address_conflicts;
    return *this;
  }
};

// One access per lane at most, of `bytes` each. Parts of other spaces are passed over.
LdsCost CountLdsCycles(LdsGrouping grouping, MemoryAction action, unsigned bytes,
                       std::span<const MemoryPart> parts);

}  // namespace rochound::softgpu
