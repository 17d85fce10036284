// SPDX-License-Identifier: MIT
//
// How many cycles LDS needs for one access of a wave, by the architecture's banks and groups of
// lanes. docs/softgpu-counters.md has the rules, their sources and what is assumed. For the
// software GPU's counters and for probes. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace rochound::base {

// How a wave's lanes share one access of LDS.
enum class LdsGrouping : uint8_t {
  kConsecutive,  // as many neighbouring lanes at once as the banks can serve
  kCdna,         // the same, but reads of 96 and 128 bits take groups of four lanes crosswise
  kCdna4,        // and reads other than of 96 bits see twice the banks
};

// target: such as gfx942 or gfx9-4-generic.
LdsGrouping LdsGroupingOf(std::string_view target);

enum class LdsAction : uint8_t { kLoad, kStore, kAtomic };

// What one lane wants; the address is an offset in LDS.
struct LdsLane {
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint32_t lane = 0;
};

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

// One access per lane at most, of up to 16 bytes each.
LdsCost CountLdsCycles(LdsGrouping grouping, LdsAction action, unsigned bytes,
                       std::span<const LdsLane> lanes);

}  // namespace rochound::base
