// SPDX-License-Identifier: MIT
//
// What one memory instruction asks of the hardware, from the addresses of its lanes: cache lines,
// and LDS cycles with their conflicts. Pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "base/lds_banks.h"
#include "softgpu/counters/target_rules.h"
#include "softgpu/isa/semantics/memory_trace.h"

namespace rochound::softgpu {

// Distinct lines that the parts of this space touch.
unsigned CountLines(std::span<const MemoryPart> parts, MemorySpace space, uint32_t line_bytes);

using base::LdsCost;

// One access per lane at most, of `bytes` each. Parts of other spaces are passed over.
LdsCost CountLdsCycles(LdsGrouping grouping, MemoryAction action, unsigned bytes,
                       std::span<const MemoryPart> parts);

}  // namespace rochound::softgpu
