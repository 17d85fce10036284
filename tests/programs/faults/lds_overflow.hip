// SPDX-License-Identifier: MIT
//
// Writes far after the workgroup's LDS through a flat pointer: inside the LDS aperture, outside
// any LDS.

#include "fault.h"

__global__ void Overflow(int* out, int offset) {
  __shared__ int local[64];
  local[threadIdx.x] = threadIdx.x;
  __syncthreads();
  int* flat = local;
  LAUNDER(flat);
  flat[offset + threadIdx.x] = 7;
  __syncthreads();
  out[threadIdx.x] = local[threadIdx.x];
}

int main() {
  program::Begin("lds_overflow");
  int* out = program::NewDevice<int>(64);
  LAUNCH_FAULTING(Overflow, 1, 64, out, 1 << 20);
  return program::Report();
}
