// SPDX-License-Identifier: MIT
//
// One kernel in many builds, of which some can take the place of the plain one: what the tests of
// swapping compile with one definition each.
#include <hip/hip_runtime.h>

#ifndef COUNT
#define COUNT int
#endif
#ifndef BOUNDS
#define BOUNDS 1024
#endif
#ifndef FACTOR
#define FACTOR 2
#endif

#if defined(PADDING)
__device__ int padding[PADDING] = {1};
#endif

#if defined(VARIABLE)
__device__ int gain = 3;
#elif defined(STATIC_VARIABLE)
static __device__ int gain = 3;
#elif defined(OUTSIDE_VARIABLE)
// HIP hides variables, and a linker refuses hidden ones that it cannot find.
extern __device__ __attribute__((visibility("default"))) int gain;
#endif

#if defined(CONSTANTS)
extern const __device__ int table[64] = {1, 2, 3, CONSTANTS};
#endif

extern "C" __global__ __launch_bounds__(BOUNDS) void scale(float* values, COUNT count) {
#if defined(SHARED)
  __shared__ float local[SHARED];
  local[threadIdx.x % SHARED] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = local[(threadIdx.x + 1) % SHARED];
#endif
#if defined(SCRATCH)
  float deep[SCRATCH];
  for (int i = 0; i < SCRATCH; ++i) deep[i] = values[i];
  for (int i = 0; i < SCRATCH; ++i) deep[(i * count) % SCRATCH] += deep[i];
  values[0] = deep[count % SCRATCH];
#endif
#if defined(PRINTS)
  printf("%d\n", static_cast<int>(count));
#endif
#if defined(NO_SIZE)
  const COUNT at = threadIdx.x;
#else
  const COUNT at = blockIdx.x * blockDim.x + threadIdx.x;
#endif
  if (at >= count) return;
  values[at] *= FACTOR;
#if defined(VARIABLE) || defined(STATIC_VARIABLE) || defined(OUTSIDE_VARIABLE)
  values[at] += gain;
  if (at == 0) ++gain;
#endif
#if defined(CONSTANTS)
  values[at] += table[static_cast<int>(values[at]) % 64];
#endif
}
