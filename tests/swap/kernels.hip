// SPDX-License-Identifier: MIT
//
// The kernels of app.hip, and, compiled alone with other definitions, what is swapped in for them.
// A kernel multiplies by FACTOR, so that results say which build ran.
#include <hip/hip_runtime.h>

#ifndef FACTOR
#define FACTOR 2
#endif
#ifndef COUNT
#define COUNT int
#endif
#ifndef BOUNDS
#define BOUNDS 1024
#endif

#if defined(VARIABLE)
__device__ int gain = 5;
#elif defined(OUTSIDE_VARIABLE)
extern __device__ __attribute__((visibility("default"))) int gain;
#endif
#if defined(CONSTANTS)
extern const __device__ float table[32] = {CONSTANTS, 1, 2, 3};
#endif

#if defined(RECURSION)
// Its depth is not known to the compiler, and so neither is its stack.
__device__ __attribute__((noinline)) float Deep(float value, int depth) {
  volatile float local[8];
  for (int i = 0; i < 8; ++i) local[i] = value;
  return depth <= 0 ? local[depth & 7] : Deep(value, depth - 1) + local[depth & 7] - value;
}
#endif

__device__ float Work(float value, long count) {
  value *= FACTOR;
#if defined(SHARED)  // more LDS than the original
  __shared__ float local[1024];
  local[threadIdx.x] = value;
  __syncthreads();
  value = local[blockDim.x - 1 - threadIdx.x];
  __syncthreads();
#endif
#if defined(SCRATCH)  // more scratch than the original
  volatile float deep[200];
  for (int i = 0; i < 200; ++i) deep[(i + threadIdx.x) % 200] = value;
  value = deep[count % 200];
#endif
#if defined(RECURSION)
  value = Deep(value, static_cast<int>(count % 16));
#endif
#if defined(DYNAMIC)
  extern __shared__ float pool[];
  pool[threadIdx.x] = value;
  __syncthreads();
  value = pool[blockDim.x - 1 - threadIdx.x];
#endif
#if defined(VARIABLE) || defined(OUTSIDE_VARIABLE)
  value += gain;
#endif
#if defined(CONSTANTS)
  value += table[count % 1];
#endif
#if defined(PRINTS)
  if (count < 0) printf("never\n");
#endif
#if defined(SLOW)  // each time round the same instructions, whatever the number
#pragma clang loop unroll(disable)
  for (int i = 0; i < SLOW; ++i) asm volatile("s_nop 0");
#endif
  return value;
}

extern "C" __global__ __launch_bounds__(BOUNDS) void scale(float* values, COUNT count) {
  const COUNT at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) values[at] = Work(values[at], count);
#if defined(UNUSED_NAME)  // as assembled kernels have them
  asm volatile(".globl nobodys_name");
#endif
#if defined(WRONG_BYTE)  // one, in the last block
  if (at == count - 1) reinterpret_cast<unsigned char*>(values)[at * sizeof(float)] ^= 1;
#endif
#if defined(FAULT)
  if (at == count - 1) *reinterpret_cast<volatile float*>(0x1000) = 1;
#endif
}

// Its symbol has the types of its arguments.
__global__ __launch_bounds__(BOUNDS) void typed(float* values, COUNT count) {
  const COUNT at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) values[at] = Work(values[at], count);
}
