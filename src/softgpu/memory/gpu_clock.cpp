// SPDX-License-Identifier: MIT
#include "softgpu/memory/gpu_clock.h"

#include <ctime>

namespace rochound::softgpu {

uint64_t GpuClockNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return (static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec)) /
         10;
}

}  // namespace rochound::softgpu
