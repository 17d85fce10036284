// SPDX-License-Identifier: MIT
//
// What the software GPU does that a GPU may do and usually does not: the names that people write
// (`rochound softgpu --fault LIST`), what they mean, and the settings they make. The command line
// checks the list with the same function with which the driver reads it. Pure functions, any
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rochound::base {

// One in so many; 0: never.
struct InjectedFaults {
  uint32_t no_rescue = 0;
  uint32_t early_packets = 0;
  uint32_t early_read_index = 0;
  uint32_t late_completions = 0;
  uint32_t drop_completions = 0;
  uint32_t inactive_queues = 0;
  uint64_t seed = 1;

  bool operator==(const InjectedFaults&) const = default;

  // Whether the fault with this chance (one of the members above) happens to a queue's packet.
  // Always the same answer for the same seed, whatever runs beside it.
  bool Happens(uint32_t InjectedFaults::* chance, uint32_t queue, uint64_t packet) const {
    const uint32_t one_in = this->*chance;
    return one_in != 0 && Random(chance, queue, packet) % one_in == 0;
  }
  // Up to this many nanoseconds, for a fault that happens.
  uint64_t Delay(uint32_t InjectedFaults::* chance, uint32_t queue, uint64_t packet,
                 uint64_t longest_ns) const {
    return (Random(chance, queue, packet) >> 32) % longest_ns;
  }

 private:
  uint64_t Random(uint32_t InjectedFaults::* chance, uint32_t queue, uint64_t packet) const;
};

struct InjectedFault {
  std::string_view name;
  uint32_t InjectedFaults::* chance;
  uint32_t usual;  // one in so many, where the list does not say how many
  bool strict;     // part of `strict`
  std::string_view what;
};

// All there are.
std::span<const InjectedFault> KnownInjectedFaults();

// "early-packets=16,late-completions,seed=7": NAME or NAME=N, one in N; `strict` is all that a
// correct program survives.
Result<InjectedFaults> ParseInjectedFaults(std::string_view list);

}  // namespace rochound::base
