// SPDX-License-Identifier: MIT
//
// Writes 64 GiB before the start of a buffer, where nothing is mapped, from every lane of a full
// grid.

#include "fault.h"

__global__ void Write(int* out, long long index) {
  out[index + threadIdx.x + blockIdx.x * blockDim.x] = 1;
}

int main() {
  program::Begin("out_of_bounds_write");
  int* buffer = program::NewDevice<int>(1024);
  LAUNCH_FAULTING(Write, 16, 256, buffer, -(1ll << 34));
  return program::Report();
}
