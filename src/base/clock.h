// SPDX-License-Identifier: MIT
//
// The two clocks that the amdgpu driver reports beside the GPU's own counter, in nanoseconds. Any
// thread, no failure: both clocks exist on every Linux that ROCm runs on.
#pragma once

#include <time.h>

#include <cstdint>

namespace rochound::base {

inline uint64_t ClockNs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

// Steady and never slewed by NTP; the CPU side of the driver's clock pair.
inline uint64_t MonotonicRawNs() { return ClockNs(CLOCK_MONOTONIC_RAW); }

// Steady, counts while suspended; the driver's "system" clock.
inline uint64_t BootTimeNs() { return ClockNs(CLOCK_BOOTTIME); }

}  // namespace rochound::base
