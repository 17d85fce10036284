// SPDX-License-Identifier: MIT
//
// Launches the same kernel twice, with the same result: the second launch changes no memory. Built
// with EMPTY, the kernel does nothing.

#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

__global__ void Table(int* out, int factor, int count) {
#ifndef EMPTY
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = i * factor + 1;
#endif
}

int main() {
  constexpr int kCount = 1000;
  int* out = nullptr;
  bool good = hipMalloc(&out, kCount * sizeof(int)) == hipSuccess;
  for (int i = 0; i < 2; ++i) Table<<<(kCount + 63) / 64, 64>>>(out, 7, kCount);
  std::vector<int> got(kCount);
  good =
      good && hipMemcpy(got.data(), out, kCount * sizeof(int), hipMemcpyDeviceToHost) == hipSuccess;
  for (int i = 0; i < kCount; ++i) good = good && got[i] == i * 7 + 1;
  puts(good ? "good" : "wrong");
  return good ? 0 : 1;
}
