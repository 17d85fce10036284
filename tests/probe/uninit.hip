// SPDX-License-Identifier: MIT
//
// Kernels that read LDS or device memory which nobody has written, and the same without that:
// uninit.py knows what `-a uninit` must say. Each line that it looks for ends with a comment "place
// NAME".
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstdio>

namespace {

constexpr int kItems = 256;
constexpr int kGroups = 2;

// The last item's right neighbour is nobody's.
template <bool kRight>
__global__ void Border(int* data) {
  __shared__ int tile[kItems + 1];
  tile[threadIdx.x] = data[threadIdx.x];
  if (kRight && threadIdx.x == 0) tile[kItems] = 0;
  __syncthreads();
  data[blockIdx.x * kItems + threadIdx.x] =
      tile[threadIdx.x] + tile[threadIdx.x + 1];  // place border
}

template <bool kRight>
__global__ void Histogram(int* data) {
  __shared__ int counts[8];
  if (kRight && threadIdx.x < 8) counts[threadIdx.x] = 0;
  __syncthreads();
  // The first wave's first touch of each, that is all lanes of one instruction.
  if (threadIdx.x < 32) atomicAdd(&counts[threadIdx.x % 8], 1 + data[0]);  // place histogram
  __syncthreads();
  if (threadIdx.x < 8) data[threadIdx.x] = counts[threadIdx.x];
}

// The upper half of each word.
template <bool kRight>
__global__ void Halves(int* data) {
  __shared__ union {
    short halves[2 * kItems];
    int words[kItems];
  } tile;
  tile.halves[2 * threadIdx.x] = static_cast<short>(data[threadIdx.x]);
  if (kRight) tile.halves[2 * threadIdx.x + 1] = 1;
  __syncthreads();
  data[blockIdx.x * kItems + threadIdx.x] = tile.words[kItems - 1 - threadIdx.x];  // place halves
}

// Who has written what each of them reads, from where on nobody has.
enum Writer { kNobody, kKernel, kCopy, kOldOwner, kFill, kWholeCopy, kCopyOnDevice, kHost };

template <Writer kWriter>
__global__ void Read(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x] + 1;  // place read
}

__global__ void WriteHalf(int* out) { out[threadIdx.x] = 1; }

void Check(hipError_t result) {
  if (result == hipSuccess) return;
  fprintf(stderr, "%s\n", hipGetErrorString(result));
  _exit(1);
}

template <bool kRight>
void Run(int* data) {
  Border<kRight><<<kGroups, kItems>>>(data);
  Histogram<kRight><<<kGroups, kItems>>>(data);
  Halves<kRight><<<kGroups, kItems>>>(data);
}

int* Allocated() {
  int* memory = nullptr;
  Check(hipMalloc(&memory, kItems * sizeof(int)));
  return memory;
}

void RunOnDevice() {
  constexpr size_t kBytes = kItems * sizeof(int);
  static int ones[kItems];
  int* const out = Allocated();
  Read<kNobody><<<1, kItems>>>(Allocated(), out);
  int* const half = Allocated();
  WriteHalf<<<1, kItems / 2>>>(half);
  Read<kKernel><<<1, kItems>>>(half, out);
  int* const copied = Allocated();
  Check(hipMemcpy(copied, ones, 100 * sizeof(int), hipMemcpyHostToDevice));
  Read<kCopy><<<1, kItems>>>(copied, out);
  int* const old = Allocated();
  Check(hipMemset(old, 0, kBytes));
  Check(hipFree(old));
  Read<kOldOwner><<<1, kItems>>>(Allocated(), out);
  int* const filled = Allocated();
  Check(hipMemset(filled, 0, kBytes));
  Read<kFill><<<1, kItems>>>(filled, out);
  int* const whole = Allocated();
  Check(hipMemcpy(whole, ones, kBytes, hipMemcpyHostToDevice));
  Read<kWholeCopy><<<1, kItems>>>(whole, out);
  int* const again = Allocated();
  Check(hipMemcpy(again, whole, kBytes, hipMemcpyDeviceToDevice));
  Read<kCopyOnDevice><<<1, kItems>>>(again, out);
  int* host = nullptr;
  Check(hipHostMalloc(&host, kBytes));
  for (int i = 0; i < kItems; ++i) host[i] = i;
  Read<kHost><<<1, kItems>>>(host, out);
}

}  // namespace

int main() {
  int* data = nullptr;
  Check(hipMalloc(&data, kGroups * kItems * sizeof(int)));
  Check(hipMemset(data, 0, kGroups * kItems * sizeof(int)));
  Run<false>(data);
  Run<true>(data);
  RunOnDevice();
  Check(hipDeviceSynchronize());
  puts("PASS uninit");
  return 0;
}
