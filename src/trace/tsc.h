// SPDX-License-Identifier: MIT
//
// The raw time stamp of the hot path, and the same instant in the system's clocks. Any thread, no
// system call on machines with a working vDSO, no failure.
#pragma once

#include <time.h>
#include <x86intrin.h>

#include <cstdint>

#include "trace/records.h"

namespace rochound::trace {

// Not serialising: a few instructions around it may still be in flight. Recording wants it cheap.
inline uint64_t ReadTsc() { return __rdtsc(); }

// One instant in all host clocks: the tightest of a few tries, so that being interrupted between
// two clocks does not bend time. Fills in everything but the head.
inline void ReadHostClocks(HostAnchor* anchor) {
  const auto ns = [](clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
  };
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < 4; ++i) {
    const uint64_t before = ReadTsc();
    const uint64_t monotonic = ns(CLOCK_MONOTONIC);
    const uint64_t after = ReadTsc();
    const uint64_t realtime = ns(CLOCK_REALTIME);
    if (after - before >= best) continue;
    best = after - before;
    anchor->now_tsc = before + best / 2;
    anchor->monotonic_ns = monotonic;
    anchor->realtime_ns = realtime;
  }
}

}  // namespace rochound::trace
