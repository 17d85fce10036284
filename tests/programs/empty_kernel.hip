// SPDX-License-Identifier: MIT
//
// An empty kernel launched 10,000 times (or as often as the first argument says), more often than
// any queue has places, without waiting in between.

#include "program.h"

__global__ void Empty() {}

int main(int argc, char** argv) {
  program::Begin("empty_kernel");
  const int launches = argc > 1 ? atoi(argv[1]) : 10000;
  for (int i = 0; i < launches; ++i) LAUNCH(Empty, 1, 64, 0, nullptr);
  HIP_CALL(hipDeviceSynchronize());
  // A host function runs on HIP's completion thread, after the walk over all these commands.
  // HIP 7.2 does not wait for that walk at exit, and a program that ends during it dies in the
  // runtime's own clean-up (seen with this program, once in 40 runs).
#if HIP_VERSION_MAJOR >= 6
  HIP_CALL(hipLaunchHostFunc(nullptr, [](void*) {}, nullptr));
#else  // HIP 5.2 has only the older call
  HIP_CALL(hipStreamAddCallback(nullptr, [](hipStream_t, hipError_t, void*) {}, nullptr, 0));
#endif
  HIP_CALL(hipDeviceSynchronize());
  return program::Pass();
}
