// SPDX-License-Identifier: MIT
//
// Runs for so many ticks of the GPU's clock and leaves the time at which it began and ended.
#include <hip/hip_runtime.h>

extern "C" __global__ void Timed(volatile unsigned long long* times, unsigned long long ticks) {
  const unsigned long long begin = wall_clock64();
  unsigned long long now = begin;
  while (now - begin < ticks) now = wall_clock64();
  times[0] = begin;
  times[1] = now;
}
