// SPDX-License-Identifier: MIT
//
// Two kernels on four streams. `aside` takes more time in all, and runs beside `chain`, which
// decides when the program ends. Both wait for a clock, so that a busy machine changes little about
// it.
#include <hip/hip_runtime.h>

#include <cstdio>

__device__ void Spin(int milliseconds, int* out) {
  const long long start = wall_clock64();
  while (static_cast<long long>(wall_clock64()) - start < 100'000LL * milliseconds)
    __builtin_amdgcn_s_sleep(100);
  *out = milliseconds;
}
extern "C" __global__ void aside(int milliseconds, int* out) { Spin(milliseconds, out); }
extern "C" __global__ void chain(int milliseconds, int* out) { Spin(milliseconds, out); }

int main() {
  constexpr int kBeside = 3, kAside = 300, kChain = 150, kLinks = 4;
  hipStream_t streams[kBeside + 1];
  int* out = nullptr;
  if (hipMalloc(&out, 64 * (kBeside + 1)) != hipSuccess) return 1;
  for (hipStream_t& stream : streams)
    if (hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) != hipSuccess) return 1;
  for (int i = 0; i < kBeside; ++i) aside<<<1, 1, 0, streams[i]>>>(kAside, out + 16 * i);
  for (int i = 0; i < kLinks; ++i) chain<<<1, 1, 0, streams[kBeside]>>>(kChain, out + 16 * kBeside);
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  puts("done");
}
