// SPDX-License-Identifier: MIT
//
// Fault: `size` is a number of bytes, and the kernel takes it for a number of elements. It writes
// four times as much as there is, and the GPU stops the program.
// Fixed: elements.
#include "check.h"

__global__ void Scale(float* data, size_t size, float factor) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < size) data[i] *= factor;
}

int main(int count, char** arguments) {
  constexpr size_t kBytes = 2 << 20;
  float* data = nullptr;
  CHECK(hipMalloc(&data, kBytes));
  CHECK(hipMemset(data, 0, kBytes));
  const size_t size = IsFixed(count, arguments) ? kBytes / sizeof(float) : kBytes;
  Scale<<<(size + 255) / 256, 256>>>(data, size, 2.0f);
  CHECK(hipDeviceSynchronize());
  CHECK(hipFree(data));
}
