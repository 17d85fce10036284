// SPDX-License-Identifier: MIT
//
// The code object that module_load and grid_3d_partial load at run time; built to a file of its
// own.

#include <hip/hip_runtime.h>

extern "C" {

__device__ int module_bias = 100;

__global__ void Saxpy(float* y, const float* x, float factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] += x[i] * factor + module_bias;
}

// Written without blockDim, which differs in the last, smaller workgroups.
__global__ void MarkPartial(unsigned* hits, int size_x, int size_y, int block_x, int block_y,
                            int block_z) {
  const int x = blockIdx.x * block_x + threadIdx.x;
  const int y = blockIdx.y * block_y + threadIdx.y;
  const int z = blockIdx.z * block_z + threadIdx.z;
  atomicAdd(&hits[(z * size_y + y) * size_x + x], 1u + threadIdx.x);
}
}
