// SPDX-License-Identifier: MIT
//
// Slow: each step allocates its working memory and frees it again. Both wait for the GPU and for
// the driver.
// Mended: the memory is allocated once.
#include "check.h"

__global__ void Fill(int* memory) { memory[blockIdx.x * blockDim.x + threadIdx.x] = 1; }

int main(int count, char** arguments) {
  const bool mended = IsMended(count, arguments);
  constexpr size_t kBytes = 32 << 20;
  int* memory = nullptr;
  CHECK(hipMalloc(&memory, kBytes));
  for (int step = 0; step < 400; ++step) {
    if (!mended) {
      CHECK(hipFree(memory));
      CHECK(hipMalloc(&memory, kBytes));
    }
    Fill<<<144, 64>>>(memory);
  }
  CHECK(hipFree(memory));
}
