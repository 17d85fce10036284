// SPDX-License-Identifier: MIT
//
// Managed memory: one pointer, written by the host, changed by a kernel, read by the host, several
// times over; and a __managed__ variable. The runtime offers this on every device, with or without
// page migration.

#include "program.h"

__managed__ int managed_total = 5;

__global__ void Rotate(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    data[i] = data[i] * 2 + 1;
    atomicAdd(&managed_total, 1);
  }
}

int main() {
  program::Begin("managed_memory");
  const int count = 5000, rounds = 4;
  int* data = nullptr;
  HIP_CALL(hipMallocManaged(&data, count * sizeof(int)));
  for (int i = 0; i < count; ++i) data[i] = i;
  for (int round = 0; round < rounds; ++round) {
    LAUNCH(Rotate, (count + 127) / 128, 128, 0, nullptr, data, count);
    HIP_CALL(hipDeviceSynchronize());
    for (int i = 0; i < count; ++i) data[i] -= 1;  // the host takes its turn
  }
  for (int i = 0; i < count; ++i) {
    CHECK(data[i] == i << rounds, "element %d is %d, wanted %d", i, data[i], i << rounds);
  }
  CHECK(managed_total == 5 + count * rounds, "managed_total is %d, wanted %d", managed_total,
        5 + count * rounds);
  managed_total = -count;
  LAUNCH(Rotate, (count + 127) / 128, 128, 0, nullptr, data, count);
  HIP_CALL(hipDeviceSynchronize());
  CHECK(managed_total == 0, "managed_total is %d after the host set it, wanted 0", managed_total);
  program::Free(data);
  return program::Pass();
}
