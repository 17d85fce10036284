// SPDX-License-Identifier: MIT
//
// Kernels that use cache lines and the banks of LDS in a known way: memory.py computes for each
// what `-a memory` must say. Each line that it looks for ends with a comment "place NAME".
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstdio>

namespace {

constexpr int kLanes = 256;
constexpr int kWorkgroup = 64;  // of kernels with LDS

template <int kStride>
__global__ void Strided(const float* in, float* out) {
  const float value = in[threadIdx.x * kStride];  // place strided
  out[threadIdx.x] = value + 1;                   // place written
}

__global__ void Backwards(const float* in, float* out) {
  out[threadIdx.x] = in[kLanes - 1 - threadIdx.x] + 1;  // place backwards
}

__global__ void Gathered(const float* in, const int* from, float* out) {
  out[threadIdx.x] = in[from[threadIdx.x]] + 1;  // place gathered
}

// One access of 16 bytes; double2 is a structure, and becomes two of 8.
using Pair = double __attribute__((ext_vector_type(2)));
__global__ void Pairs(const Pair* in, Pair* out) {
  const Pair value = in[threadIdx.x];  // place pairs
  out[threadIdx.x] = value.yx;         // place swapped
}

// The last lane first, so that nothing is forwarded in registers.
template <int kStride>
__global__ void Banks(float* out) {
  __shared__ float tile[kWorkgroup * kStride];
  tile[threadIdx.x * kStride] = out[threadIdx.x];  // place banks_written
  __syncthreads();
  out[threadIdx.x] = tile[(kWorkgroup - 1 - threadIdx.x) * kStride];  // place banks_read
}

// 16 bytes of each lane, every other 16 bytes of LDS.
__global__ void WideBanks(float* out) {
  using Four = float __attribute__((ext_vector_type(4)));
  __shared__ Four tile[kWorkgroup * 2];
  tile[threadIdx.x * 2] = out[threadIdx.x];  // place wide_written
  __syncthreads();
  const Four value = tile[(kWorkgroup - 1 - threadIdx.x) * 2];  // place wide_read
  out[threadIdx.x] = value.x + value.y + value.z + value.w;
}

__global__ void SameDword(int* out) {
  __shared__ int counts[2];
  if (threadIdx.x < 2) counts[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&counts[threadIdx.x % 2], static_cast<int>(threadIdx.x));  // place counted
  __syncthreads();
  out[threadIdx.x] = counts[threadIdx.x % 2];  // place broadcast
}

void Check(hipError_t result) {
  if (result == hipSuccess) return;
  fprintf(stderr, "%s\n", hipGetErrorString(result));
  _exit(1);
}

}  // namespace

int main() {
  float *in = nullptr, *out = nullptr;
  int* from = nullptr;
  Check(hipMalloc(&in, kLanes * 64 * sizeof(float)));
  Check(hipMalloc(&out, kLanes * 4 * sizeof(float)));
  Check(hipMalloc(&from, kLanes * sizeof(int)));
  Check(hipMemset(in, 0, kLanes * 64 * sizeof(float)));
  int indices[kLanes];
  for (int i = 0; i < kLanes; ++i) indices[i] = i * i % 4093;
  Check(hipMemcpy(from, indices, sizeof indices, hipMemcpyHostToDevice));
  Strided<1><<<1, kLanes>>>(in, out);
  Strided<2><<<1, kLanes>>>(in, out);
  Strided<17><<<1, kLanes>>>(in, out);
  Strided<32><<<1, kLanes>>>(in, out);
  Strided<33><<<1, kLanes>>>(in, out);
  Backwards<<<1, kLanes>>>(in, out);
  Gathered<<<1, kLanes>>>(in, from, out);
  Pairs<<<1, kLanes>>>(reinterpret_cast<Pair*>(in), reinterpret_cast<Pair*>(out));
  Banks<1><<<1, kWorkgroup>>>(out);
  Banks<2><<<1, kWorkgroup>>>(out);
  Banks<17><<<1, kWorkgroup>>>(out);
  Banks<32><<<1, kWorkgroup>>>(out);
  Banks<33><<<1, kWorkgroup>>>(out);
  WideBanks<<<1, kWorkgroup>>>(out);
  SameDword<<<1, kWorkgroup>>>(from);
  Check(hipDeviceSynchronize());
  puts("PASS memory");
  return 0;
}
