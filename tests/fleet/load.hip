// SPDX-License-Identifier: MIT
//
// load SECONDS [STUCK]: launches three kernels again and again, from two threads with a stream
// each, and says how often. STUCK: then a kernel that never ends, until the process is killed.
#include <hip/hip_runtime.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#define CHECK_HIP(call)                                              \
  do {                                                               \
    if (const hipError_t status = (call); status != hipSuccess) {    \
      fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(status)); \
      exit(1);                                                       \
    }                                                                \
  } while (false)

template <int kRounds>
__global__ void Turn(unsigned* data) {
  unsigned value = data[threadIdx.x];
  for (int i = 0; i < kRounds; ++i) value = value * 1664525u + 1013904223u;
  data[threadIdx.x] = value;
}

__global__ void ncclDevKernel_Pretended(volatile int* stop) {
  while (*stop == 0) __builtin_amdgcn_s_sleep(1);
}

namespace {

std::atomic<unsigned long> launched[3];

void Work(double seconds) {
  hipStream_t stream = nullptr;
  unsigned* data = nullptr;
  CHECK_HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK_HIP(hipMalloc(&data, 64 * sizeof *data));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 8; ++i) {
      Turn<1><<<1, 64, 0, stream>>>(data);
      ++launched[0];
    }
    Turn<100><<<1, 64, 0, stream>>>(data);
    ++launched[1];
    Turn<2000><<<1, 64, 0, stream>>>(data);
    ++launched[2];
    CHECK_HIP(hipStreamSynchronize(stream));
  }
  CHECK_HIP(hipFree(data));
  CHECK_HIP(hipStreamDestroy(stream));
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  std::thread other(Work, seconds);
  Work(seconds);
  other.join();
  printf("launched %lu %lu %lu\n", launched[0].load(), launched[1].load(), launched[2].load());
  fflush(stdout);
  if (argc > 2 && strcmp(argv[2], "STUCK") == 0) {
    int* stop = nullptr;
    CHECK_HIP(hipHostMalloc(&stop, sizeof *stop));
    *stop = 0;
    ncclDevKernel_Pretended<<<1, 64>>>(stop);
    CHECK_HIP(hipDeviceSynchronize());
  }
  if (argc > 2 && strcmp(argv[2], "AWAY") == 0) std::this_thread::sleep_for(std::chrono::hours(1));
  return 0;
}
