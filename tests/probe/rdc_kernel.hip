// SPDX-License-Identifier: MIT
//
// A kernel that calls a function of another file, linked as bitcode (-fgpu-rdc).
#include <hip/hip_runtime.h>

#include <cstdio>

__device__ int Twice(const int* values, unsigned at);

extern "C" __global__ void probe_rdc(int* values) {
  values[threadIdx.x] = Twice(values, threadIdx.x) + 1;
}

int main() {
  int* values = nullptr;
  int results[64] = {};
  for (int i = 0; i < 64; ++i) results[i] = i;
  if (hipMalloc(&values, sizeof results) != hipSuccess ||
      hipMemcpy(values, results, sizeof results, hipMemcpyHostToDevice) != hipSuccess)
    return 1;
  probe_rdc<<<1, 64>>>(values);
  if (hipMemcpy(results, values, sizeof results, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  for (int i = 0; i < 64; ++i)
    if (results[i] != 2 * i + 1) return 1;
  std::puts("right rdc");
  return 0;
}
