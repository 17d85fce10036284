// SPDX-License-Identifier: MIT
//
// Slow: the host waits for the GPU after each short step, and the GPU for the host.
// Fixed: steps on one stream run in order anyway; it waits once, at the end.
#include "check.h"

__global__ void Step(float* field) { field[threadIdx.x] += 0.5f * field[(threadIdx.x + 1) % 64]; }

int main(int count, char** arguments) {
  const bool fixed = IsFixed(count, arguments);
  float* field = nullptr;
  CHECK(hipMalloc(&field, 64 * sizeof(float)));
  CHECK(hipMemset(field, 0, 64 * sizeof(float)));
  for (int step = 0; step < 1000; ++step) {
    Step<<<1, 64>>>(field);
    if (!fixed) CHECK(hipDeviceSynchronize());
  }
  CHECK(hipDeviceSynchronize());
  CHECK(hipFree(field));
}
