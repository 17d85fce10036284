// SPDX-License-Identifier: MIT
//
// Kernels with all kinds of resources, each with one possible workgroup size, for which the
// compiler's own count of waves is compared with ours.
#include <hip/hip_runtime.h>

#define SIZE(count) __attribute__((amdgpu_flat_work_group_size(count, count)))

template <int Count>
__device__ void Registers(double* values) {
  double local[Count];
#pragma unroll
  for (int i = 0; i < Count; ++i) local[i] = values[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Count; ++i) values[i * 1024 + threadIdx.x] = local[Count - 1 - i] * local[i];
}

template <int Bytes>
__device__ void Lds(char* values) {
  __shared__ char local[Bytes];
  for (int i = threadIdx.x; i < Bytes; i += 32) local[i] = values[i];
  __syncthreads();
  for (int i = threadIdx.x; i < Bytes; i += 64) values[i] = local[Bytes - 1 - i];
}

#define REGISTERS(count, size)                                                          \
  extern "C" __global__ SIZE(size) void registers_##count##_in_##size(double* values) { \
    Registers<count>(values);                                                           \
  }
#define LDS(bytes, size)                                                        \
  extern "C" __global__ SIZE(size) void lds_##bytes##_in_##size(char* values) { \
    Lds<bytes>(values);                                                         \
  }

REGISTERS(2, 64)
REGISTERS(8, 256)
REGISTERS(14, 256)
REGISTERS(20, 64)
REGISTERS(30, 256)
REGISTERS(40, 128)
REGISTERS(60, 64)
REGISTERS(90, 256)
REGISTERS(110, 64)
REGISTERS(20, 1024)
LDS(1024, 64)
LDS(4096, 64)
LDS(4000, 256)
LDS(9000, 256)
LDS(16384, 256)
LDS(20000, 128)
LDS(30000, 512)
LDS(32768, 1024)
LDS(40000, 64)
LDS(65536, 256)
