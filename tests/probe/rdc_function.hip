// SPDX-License-Identifier: MIT
#include <hip/hip_runtime.h>

__device__ __attribute__((noinline)) int Twice(const int* values, unsigned at) {
  return 2 * values[at];
}
