// SPDX-License-Identifier: MIT
//
// The clock that all GPU time stamps are in: 100 MHz, CLOCK_MONOTONIC_RAW / 10. Any thread.
#pragma once

#include <cstdint>

namespace rochound::softgpu {

inline constexpr uint64_t kGpuClockHz = 100'000'000;

uint64_t GpuClockNow();

}  // namespace rochound::softgpu
