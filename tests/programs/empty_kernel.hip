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
  return program::Pass();
}
