// SPDX-License-Identifier: MIT
//
// Kernels whose lanes go different ways, and the same where waves agree: blocks.py knows how often
// each line runs, and with how many lanes. Each line that it looks for ends with a comment
// "place NAME". Stores are volatile and differ, so that blocks stay apart; each place has a part of
// the memory of its own, by which the software GPU's trace knows it.
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstdio>

namespace {

constexpr int kItems = 128;
constexpr int kGroups = 3;
constexpr int kPart = 4096;  // ints

// One lane in four goes the other way, or one workgroup does.
template <bool kSame>
__global__ void Two(volatile int* data) {
  const int choice = kSame ? blockIdx.x : threadIdx.x % 4;
  if (choice == 1)          // place two_branch
    data[threadIdx.x] = 1;  // place two_some
  else
    reinterpret_cast<volatile short*>(data + kPart)[threadIdx.x] = 2;  // place two_others
}

// Lane n goes round n % 8 + 1 times, or all lanes five times.
template <bool kSame>
__global__ void Loop(volatile int* data, int five) {
  const int rounds = kSame ? five : threadIdx.x % 8 + 1;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i)      // place loop_branch
    data[2 * kPart + threadIdx.x] = i;  // place loop_body
}

// Four ways.
template <bool kSame>
__global__ void Switch(volatile int* data) {
  switch (kSame ? blockIdx.x : threadIdx.x % 32 / 8) {  // place switch_branch
    case 0:
      data[3 * kPart + threadIdx.x] = 1;  // place switch_0
      data[3 * kPart + threadIdx.x] = 3;
      break;
    case 1:
      data[4 * kPart + threadIdx.x] = 2;  // place switch_1
      break;
    case 2:
      data[5 * kPart + threadIdx.x] = data[5 * kPart];  // place switch_2
      break;
    default:
      data[6 * kPart + threadIdx.x] = static_cast<int>(threadIdx.x) ^ 5;  // place switch_3
  }
}

__device__ __attribute__((noinline)) void Called(volatile int* data) {
  data[7 * kPart + threadIdx.x] = 1;  // place called
}

// The function that is called begins with the lanes that call it: it does not diverge itself.
template <bool kSame>
__global__ void Calls(volatile int* data) {
  if (kSame || threadIdx.x % 2 == 0) Called(data);  // place calls_branch
}

// A wave that is not full from the beginning does not diverge.
__global__ void Part(volatile int* data) { data[8 * kPart + threadIdx.x] = 1; }  // place part

void Check(hipError_t result) {
  if (result == hipSuccess) return;
  fprintf(stderr, "%s\n", hipGetErrorString(result));
  _exit(1);
}

template <bool kSame>
void Run(int* data) {
  Two<kSame><<<kGroups, kItems>>>(data);
  Loop<kSame><<<kGroups, kItems>>>(data, 5);
  Switch<kSame><<<kGroups, kItems>>>(data);
  Calls<kSame><<<kGroups, kItems>>>(data);
}

}  // namespace

int main() {
  int* data = nullptr;
  Check(hipMalloc(&data, 9 * kPart * sizeof(int)));
  Check(hipMemset(data, 0, 9 * kPart * sizeof(int)));
  printf("data %p\n", static_cast<void*>(data));
  Run<false>(data);
  Run<true>(data);
  Part<<<1, 20>>>(data);
  Check(hipDeviceSynchronize());
  puts("PASS blocks");
  return 0;
}
