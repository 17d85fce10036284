// SPDX-License-Identifier: MIT
//
// Ends a kernel by __builtin_trap in one lane of many.

#include "fault.h"

__global__ void Trap(const int* in) {
  if (in[threadIdx.x] == 5) __builtin_trap();
}

int main() {
  program::Begin("device_trap");
  std::vector<int> in(64);
  for (int i = 0; i < 64; ++i) in[i] = i;
  int* device = program::NewDevice(in);
  LAUNCH_FAULTING(Trap, 1, 64, device);
  return program::Report();
}
