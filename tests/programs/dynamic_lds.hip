// SPDX-License-Identifier: MIT
//
// LDS whose size is given at launch, from nothing to all that a workgroup may have, beside a static
// array, and shared out between two arrays of different types.

#include "program.h"

extern __shared__ __align__(16) unsigned char pool[];

__global__ void ReverseInPool(const int* in, int* out, int count) {
  __shared__ int first;
  int* words = reinterpret_cast<int*>(pool);
  short* marks = reinterpret_cast<short*>(words + count);
  if (threadIdx.x == 0) first = in[0];
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    words[i] = in[i];
    marks[i] = static_cast<short>(i % 1000);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    out[i] = words[count - 1 - i] + marks[count - 1 - i] + first;
  }
}

int main() {
  program::Begin("dynamic_lds");
  int limit = 0;
  HIP_CALL(hipDeviceGetAttribute(&limit, hipDeviceAttributeMaxSharedMemoryPerBlock, 0));
  printf("LDS per workgroup: %d\n", limit);
  CHECK(limit >= 32768, "only %d bytes of LDS", limit);
  const int largest = (limit - 16) / 6;
  for (int count : {0, 1, 100, 3000, largest}) {
    std::vector<int> in(count + 1);
    for (int i = 0; i <= count; ++i) in[i] = i * i + 3;
    int* device_in = program::NewDevice(in);
    int* device_out = program::NewDevice(std::vector<int>(count + 1, -7));
    LAUNCH(ReverseInPool, 1, 256, static_cast<size_t>(count) * 6, nullptr, device_in, device_out,
           count);
    HIP_CALL(hipDeviceSynchronize());
    const std::vector<int> out = program::Download(device_out, count + 1);
    for (int i = 0; i < count; ++i) {
      const int from = count - 1 - i;
      CHECK(out[i] == in[from] + from % 1000 + in[0], "%d words: element %d is %d, wanted %d",
            count, i, out[i], in[from] + from % 1000 + in[0]);
    }
    CHECK(out[count] == -7, "%d words: written past the end", count);
    program::Free(device_in);
    program::Free(device_out);
  }
  return program::Pass();
}
