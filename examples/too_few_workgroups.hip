// SPDX-License-Identifier: MIT
//
// Slow: 8 workgroups on a GPU with 72 compute units. 64 of these have nothing to do.
// Fixed: the same work in 288 workgroups.
#include "check.h"

__global__ void Integrate(float* out, int rounds) {
  float value = threadIdx.x;
  for (int i = 0; i < rounds; ++i) value = value * 0.999f + 0.001f;
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

int main(int count, char** arguments) {
  constexpr int kWork = 1 << 18;
  const int workgroups = IsFixed(count, arguments) ? 288 : 8;
  float* out = nullptr;
  CHECK(hipMalloc(&out, workgroups * 256 * sizeof(float)));
  for (int i = 0; i < 4; ++i) Integrate<<<workgroups, 256>>>(out, kWork / workgroups);
  CHECK(hipDeviceSynchronize());
  CHECK(hipFree(out));
}
