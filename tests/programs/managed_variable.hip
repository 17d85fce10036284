// SPDX-License-Identifier: MIT
//
// A __managed__ variable: one object that host and device code both name, changed by both in turn.
// It lives in host pages that the device must be able to reach by itself (shared virtual memory).

#include "program.h"

__managed__ int total = 5;
__managed__ double table[100] = {1.5, 2.5};

__global__ void Touch(int turns) {
  if (threadIdx.x < 100) table[threadIdx.x] = table[threadIdx.x] * 2 + threadIdx.x;
  atomicAdd(&total, turns);
}

int main() {
  program::Begin("managed_variable");
  int supported = 0;
  HIP_CALL(hipDeviceGetAttribute(&supported, hipDeviceAttributeManagedMemory, 0));
  if (!supported) program::Skip("the device says it has no shared virtual memory");
  LAUNCH(Touch, 1, 128, 0, nullptr, 1);
  HIP_CALL(hipDeviceSynchronize());
  CHECK(total == 133, "the total is %d, wanted 133", total);
  total = -256;
  for (double& value : table) value += 1;
  LAUNCH(Touch, 1, 128, 0, nullptr, 2);
  HIP_CALL(hipDeviceSynchronize());
  CHECK(total == 0, "the total is %d after the host set it, wanted 0", total);
  for (int i = 0; i < 100; ++i) {
    const double start = i == 0 ? 1.5 : i == 1 ? 2.5 : 0;
    const double want = (start * 2 + i + 1) * 2 + i;
    CHECK(table[i] == want, "table[%d] is %g, wanted %g", i, table[i], want);
  }
  return program::Pass();
}
