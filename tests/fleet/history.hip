// SPDX-License-Identifier: MIT
//
// A kernel in two builds, and one that stays as it is: with SLOWER the compiler may not keep a value
// in registers, so that it goes through memory in each round.
#include <hip/hip_runtime.h>

extern "C" __global__ void Smooth(float* data, const float* other, int rounds) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef SLOWER
  volatile float* value = data + i;
  for (int round = 0; round < rounds; ++round) *value = *value * 0.5f + other[i];
#else
  float value = data[i];
  for (int round = 0; round < rounds; ++round) value = value * 0.5f + other[i];
  data[i] = value;
#endif
}

extern "C" __global__ void Copy(float* to, const float* from) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[i];
}
