// SPDX-License-Identifier: MIT
//
// Fault: a kernel waits for a flag that the kernel after it sets, on the same stream.
// Fixed: the one that sets it comes first.
#include <chrono>
#include <thread>

#include "check.h"

__global__ void WaitForFlag(volatile int* flag) {
  while (*flag == 0) {
  }
}

__global__ void SetFlag(int* flag) { *flag = 1; }

int main(int count, char** arguments) {
  int* flag = nullptr;
  CHECK(hipMalloc(&flag, sizeof(int)));
  CHECK(hipMemset(flag, 0, sizeof(int)));
  if (IsFixed(count, arguments)) SetFlag<<<1, 1>>>(flag);
  WaitForFlag<<<1, 1>>>(flag);
  SetFlag<<<1, 1>>>(flag);
  for (int i = 0; i < 50; ++i) {
    if (hipStreamQuery(nullptr) == hipSuccess) return 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  fprintf(stderr, "no answer from the GPU for five seconds\n");
  std::_Exit(1);
}
