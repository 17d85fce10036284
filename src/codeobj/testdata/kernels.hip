// SPDX-License-Identifier: MIT
//
// What the tests of src/codeobj read: one of each kind of argument, variable and resource.
#include <hip/hip_runtime.h>

struct Pair {
  int first;
  double second;
};

__device__ int counter = 7;
__device__ float zeros[300];
__constant__ int table[4] = {1, 2, 3, 4};
__device__ int* pointer_to_counter = &counter;

extern "C" __global__ void plain(const float* in, float* out, int count, Pair pair, char last) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] * pair.second + last + table[i % 4];
}

extern "C" __global__ void plain_extra(const float* in, float* out, int count, Pair pair, char last,
                                       void* more) {
  if (threadIdx.x == 0) out[count] = in[0] + pair.first + last + (more != nullptr);
}

extern "C" __global__ void plain_other_type(const float* in, float* out, long count, Pair pair,
                                            char last) {
  if (threadIdx.x == 0) out[count] = in[0] + pair.first + last;
}

namespace shapes {
template <typename T>
__global__ __launch_bounds__(256) void Reduce(const T* in, T* out) {
  __shared__ T part[256];
  extern __shared__ double dynamic[];
  part[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  dynamic[threadIdx.x] = part[threadIdx.x] + zeros[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    T sum = 0;
    for (int i = 0; i < 256; ++i) sum += part[i] * dynamic[255 - i];
    out[blockIdx.x] = sum;
    atomicAdd(pointer_to_counter, 1);
  }
}
template __global__ void Reduce<float>(const float*, float*);
template __global__ void Reduce<double>(const double*, double*);
}  // namespace shapes

// Needs scratch and many registers.
extern "C" __global__ __launch_bounds__(1024) void hungry(double* values, int index) {
  double local[96];
  for (int i = 0; i < 96; ++i) local[i] = values[i * 64 + threadIdx.x];
  for (int i = 0; i < 96; ++i) local[(i * index) % 96] += local[i] * values[i];
  values[threadIdx.x] = local[index % 96] + local[(index + 1) % 96] + counter;
}
