// SPDX-License-Identifier: MIT
//
// Kernels with a race each, and the same without it: races.py knows what `-a races` must say. Each
// line that it looks for ends with a comment "place NAME".
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstdio>

namespace {

constexpr int kItems = 256;  // several waves on every GPU
constexpr int kGroups = 2;

template <bool kRight>
__global__ void Exchange(int* data) {
  __shared__ int tile[kItems];
  tile[threadIdx.x] = data[threadIdx.x];  // place exchange_written
  if (kRight) __syncthreads();
  data[blockIdx.x * kItems + threadIdx.x] = tile[threadIdx.x ^ 64];  // place exchange_read
}

// The barrier at the end of the loop is easily forgotten.
template <bool kRight>
__global__ void Again(int* data) {
  __shared__ int tile[kItems];
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < 3; ++i) {
    tile[threadIdx.x] = sum + i;  // place again_written
    __syncthreads();
    sum += tile[kItems - 1 - threadIdx.x];  // place again_read
    if (kRight) __syncthreads();
  }
  data[blockIdx.x * kItems + threadIdx.x] = sum;
}

// Bytes that share a dword are no race; the same byte is.
template <bool kRight>
__global__ void Bytes(int* data) {
  __shared__ char tile[kItems];
  const int mine = kRight ? (threadIdx.x % 64) * 4 + threadIdx.x / 64 : threadIdx.x % 64;
  tile[mine] = static_cast<char>(threadIdx.x);  // place bytes_written
  __syncthreads();
  data[blockIdx.x * kItems + threadIdx.x] = tile[threadIdx.x % 64];
}

template <bool kRight>
__global__ void Sum(int* data) {
  int* const sum = &data[kGroups * kItems + blockIdx.x];
  if (kRight)
    atomicAdd(sum, 1);  // place sum_right
  else
    *sum = *sum + 1;  // place sum_wrong
}

// The lanes of one wave are in order without a barrier.
__global__ void OneWave(int* data) {
  __shared__ volatile int tile[32];
  tile[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = tile[31 - threadIdx.x];
}

void Check(hipError_t result) {
  if (result == hipSuccess) return;
  fprintf(stderr, "%s\n", hipGetErrorString(result));
  _exit(1);
}

template <bool kRight>
void Run(int* data) {
  Exchange<kRight><<<kGroups, kItems>>>(data);
  Again<kRight><<<kGroups, kItems>>>(data);
  Bytes<kRight><<<kGroups, kItems>>>(data);
  Sum<kRight><<<kGroups, kItems>>>(data);
}

}  // namespace

int main() {
  int* data = nullptr;
  Check(hipMalloc(&data, (kGroups * kItems + kGroups) * sizeof(int)));
  Check(hipMemset(data, 0, (kGroups * kItems + kGroups) * sizeof(int)));
  Run<false>(data);
  Run<true>(data);
  OneWave<<<1, 32>>>(data);
  Check(hipDeviceSynchronize());
  puts("PASS races");
  return 0;
}
