// SPDX-License-Identifier: MIT
//
// How fast HIP launches an empty kernel: back to back, and one at a time. Prints two numbers.
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

__global__ void Empty() {}

#define CHECK(call)                                                       \
  do {                                                                    \
    hipError_t status = (call);                                           \
    if (status != hipSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(status)); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)

static double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char** argv) {
  int launches = argc > 1 ? std::atoi(argv[1]) : 50000;
  int synchronised = argc > 2 ? std::atoi(argv[2]) : 2000;
  for (int i = 0; i < 1000; ++i) Empty<<<1, 64>>>();
  CHECK(hipDeviceSynchronize());
  double begin = Seconds();
  for (int i = 0; i < launches; ++i) Empty<<<1, 64>>>();
  CHECK(hipDeviceSynchronize());
  double middle = Seconds();
  for (int i = 0; i < synchronised; ++i) {
    Empty<<<1, 64>>>();
    CHECK(hipDeviceSynchronize());
  }
  double end = Seconds();
  std::printf("launches_per_second %.0f\n", launches / (middle - begin));
  std::printf("launch_and_sync_microseconds %.2f\n", (end - middle) / synchronised * 1e6);
  return 0;
}
