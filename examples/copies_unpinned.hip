// SPDX-License-Identifier: MIT
//
// Slow: the frames that go to the GPU are in memory of malloc, so each copy goes through a buffer
// of the runtime, and the host does nothing else meanwhile.
// Fixed: memory of hipHostMalloc, which the GPU reads itself.
#include "check.h"

__global__ void Sum(const unsigned char* frame, unsigned* sum) {
  atomicAdd(sum, frame[blockIdx.x * blockDim.x + threadIdx.x]);
}

int main(int count, char** arguments) {
  constexpr size_t kFrame = 32 << 20;
  void* host = nullptr;
  if (IsFixed(count, arguments)) {
    CHECK(hipHostMalloc(&host, kFrame));
  } else {
    host = malloc(kFrame);
  }
  memset(host, 1, kFrame);
  unsigned char* frame = nullptr;
  unsigned* sum = nullptr;
  CHECK(hipMalloc(&frame, kFrame));
  CHECK(hipMalloc(&sum, sizeof *sum));
  CHECK(hipMemset(sum, 0, sizeof *sum));
  for (int i = 0; i < 8; ++i) {
    CHECK(hipMemcpy(frame, host, kFrame, hipMemcpyHostToDevice));
    Sum<<<144, 64>>>(frame, sum);
  }
  CHECK(hipDeviceSynchronize());
}
