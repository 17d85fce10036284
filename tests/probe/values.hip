// SPDX-License-Identifier: MIT
//
// Values that the source asks to be told: values.py computes the same. Each line that it looks for
// ends with a comment "place NAME".
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstdio>

namespace {

constexpr int kItems = 100;
constexpr int kGroups = 2;

// Three widths, one of them in a branch and a loop, and an annotation that is none of ours.
__global__ void Told(int* data) {
  const int item = static_cast<int>(blockIdx.x * kItems + threadIdx.x);
  const int square = item * item - 50;
  __builtin_annotation(square, "rochound: square");  // place square
  __builtin_annotation(square, "something else");
  short sum = 0;
#pragma unroll 1
  for (int i = 0; i < 3; ++i) {
    sum = static_cast<short>(sum + item);
    if (item % 5 == 0) __builtin_annotation(sum, "rochound: sum");  // place sum
  }
  const long large = (1l << 40) + item;
  __builtin_annotation(large, "rochound: a large one");  // place large
  data[item] = square + sum;
}

}  // namespace

int main() {
  int* data = nullptr;
  int all[kGroups * kItems];
  if (hipMalloc(&data, sizeof all) != hipSuccess) return 1;
  Told<<<kGroups, kItems>>>(data);
  if (hipMemcpy(all, data, sizeof all, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  for (int i = 0; i < kGroups * kItems; ++i)
    if (all[i] != i * i - 50 + 3 * i) return 1;
  puts("PASS messages");
  return 0;
}
