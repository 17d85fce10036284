// SPDX-License-Identifier: MIT
//
// Reads 64 GiB before the start of a buffer, where nothing is mapped.

#include "fault.h"

__global__ void Read(const int* in, long long index, int* out) { *out = in[index]; }

int main() {
  program::Begin("out_of_bounds_read");
  int* buffer = program::NewDevice<int>(1024);
  LAUNCH_FAULTING(Read, 1, 1, buffer, -(1ll << 34), buffer);
  return program::Report();
}
