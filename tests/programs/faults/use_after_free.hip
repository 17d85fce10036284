// SPDX-License-Identifier: MIT
//
// Reads a buffer that has been freed; it is large enough to have had pages of its own.

#include "fault.h"

__global__ void Sum(const int* in, int* out) {
  int sum = 0;
  for (int i = threadIdx.x; i < (1 << 24); i += 1 << 18) sum += in[i];
  out[threadIdx.x] = sum;
}

int main() {
  program::Begin("use_after_free");
  int* out = program::NewDevice<int>(64);
  int* buffer = program::NewDevice<int>(1 << 24);
  HIP_MEMSET(64 << 20, hipMemset(buffer, 1, 64 << 20));
  HIP_CALL(hipDeviceSynchronize());
  program::Free(buffer);
  LAUNCH_FAULTING(Sum, 1, 64, buffer, out);
  return program::Report();
}
