// SPDX-License-Identifier: MIT
//
// A failed assert in a kernel: prints the condition, then traps.

#include <cassert>

#include "fault.h"

__global__ void Assert(int limit) { assert(static_cast<int>(threadIdx.x) < limit); }

int main() {
  program::Begin("device_assert");
  LAUNCH_FAULTING(Assert, 1, 64, 60);
  return program::Report();
}
