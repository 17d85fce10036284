// SPDX-License-Identifier: MIT
//
// Managed memory: one pointer, written by the host, changed by a kernel, read by the host, several
// times over. The runtime offers this on every device, with or without page migration.

#include "program.h"

__global__ void Rotate(int* data, int count, int* turns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    data[i] = data[i] * 2 + 1;
    atomicAdd(turns, 1);
  }
}

int main() {
  program::Begin("managed_memory");
  const int count = 5000, rounds = 4;
  int *data = nullptr, *turns = nullptr;
  HIP_CALL(hipMallocManaged(&data, count * sizeof(int)));
  HIP_CALL(hipMallocManaged(&turns, sizeof(int), hipMemAttachHost));
  for (int i = 0; i < count; ++i) data[i] = i;
  *turns = 5;
  for (int round = 0; round < rounds; ++round) {
    LAUNCH(Rotate, (count + 127) / 128, 128, 0, nullptr, data, count, turns);
    HIP_CALL(hipDeviceSynchronize());
    for (int i = 0; i < count; ++i) data[i] -= 1;  // the host takes its turn
  }
  for (int i = 0; i < count; ++i) {
    CHECK(data[i] == i << rounds, "element %d is %d, wanted %d", i, data[i], i << rounds);
  }
  CHECK(*turns == 5 + count * rounds, "%d turns, wanted %d", *turns, 5 + count * rounds);
  program::Free(data);
  program::Free(turns);
  return program::Pass();
}
