// SPDX-License-Identifier: MIT
//
// Slow: each step allocates its working memory and frees it again. Both wait for the GPU and for
// the driver.
// Fixed: the memory is allocated once.
#include "check.h"

__global__ void Fill(int* memory) { memory[blockIdx.x * blockDim.x + threadIdx.x] = 1; }

int main(int count, char** arguments) {
  const bool fixed = IsFixed(count, arguments);
  constexpr size_t kBytes = 8 << 20;
  int* buffers[24] = {};
  for (int*& buffer : buffers) CHECK(hipMalloc(&buffer, kBytes));
  for (int step = 0; step < 60; ++step) {
    for (int*& buffer : buffers) {
      if (fixed) break;
      CHECK(hipFree(buffer));
      CHECK(hipMalloc(&buffer, kBytes));
    }
    Fill<<<144, 64>>>(buffers[step % 24]);
  }
  for (int* buffer : buffers) CHECK(hipFree(buffer));
}
