// SPDX-License-Identifier: MIT
//
// Fails on the GPU in the way that its argument names; `rochound run` must find out which. Prints
// the error that comes back, and ends with 0 if there is one.

#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "../programs/program.h"

// Keeps the compiler from knowing where a pointer points to.
#define LAUNDER(pointer) asm volatile("" : "+v"(pointer))

constexpr size_t kCount = size_t{4} << 20;  // 16 MiB, which fill their pages

__global__ void ReadAt(const int* ok, const int* data, size_t at, int* out) {
  LAUNDER(data);
  *out = data[at] + ok[0];
}

__global__ void WriteAt(const int* in, size_t at, int* data) {
  LAUNDER(data);
  data[at] = in[0];
}

struct Pair {
  const int* first;
  int* second;
  size_t at;
};

__global__ void WritePair(Pair pair) { pair.second[pair.at] = pair.first[0]; }

__global__ void Follow(int** pointers) { *pointers[1] = 1; }

__device__ __attribute__((noinline)) int Deeper(int depth, volatile int* marks) {
  volatile int mine[64];
  for (int i = 0; i < 64; ++i) mine[i] = depth + i;
  if (marks[0] == depth) return mine[depth & 63];
  return Deeper(depth + 1, marks) + mine[depth & 63];
}

__global__ void Recurse(int* marks) { marks[1] = Deeper(0, marks); }

__global__ void Wait(volatile int* flag) {
  while (*flag == 0) {
  }
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  program::Begin("failing");
  int* first = nullptr;
  int* second = nullptr;
  HIP_CALL(hipMalloc(reinterpret_cast<void**>(&first), kCount * sizeof(int)));
  HIP_CALL(hipMalloc(reinterpret_cast<void**>(&second), kCount * sizeof(int)));
  HIP_MEMSET(kCount * sizeof(int), hipMemset(first, 0, kCount * sizeof(int)));
  HIP_CALL(hipDeviceSynchronize());
  constexpr size_t kGigabyte = (size_t{1} << 30) / sizeof(int);
  if (mode == "read_past") {
    ReadAt<<<1, 1>>>(first, second, kCount, first);
  } else if (mode == "read_far") {
    ReadAt<<<1, 1>>>(first, second, kCount + 64 * kGigabyte, first);
  } else if (mode == "write_past") {
    WriteAt<<<1, 1>>>(first, kCount, second);
  } else if (mode == "write_before") {
    WriteAt<<<1, 1>>>(first, ~size_t{0}, second);
  } else if (mode == "structure") {
    WritePair<<<1, 1>>>(Pair{first, second, kCount});
  } else if (mode == "host_pointer") {
    int* const ordinary = static_cast<int*>(malloc(1 << 20));
    ordinary[0] = 1;
    WriteAt<<<1, 1>>>(first, 0, ordinary);
  } else if (mode == "garbage") {
    WriteAt<<<1, 1>>>(first, 0, reinterpret_cast<int*>(0x123456789000));
  } else if (mode == "inner_null") {
    Follow<<<1, 1>>>(reinterpret_cast<int**>(first));
  } else if (mode == "recursion") {
    const int never = -1;
    HIP_CALL(hipMemcpy(first, &never, sizeof never, hipMemcpyHostToDevice));
    Recurse<<<1, 1>>>(first);
  } else if (mode == "endless") {
    Wait<<<1, 1>>>(first);
    sleep(4);
    printf("gave up\n");
    fflush(stdout);
    _exit(3);
  } else {
    fprintf(stderr, "which way to fail?\n");
    return 2;
  }
  const hipError_t error = hipDeviceSynchronize();
  printf("error=%d name=%s\n", static_cast<int>(error), hipGetErrorName(error));
  fflush(stdout);
  return error == hipSuccess ? 1 : 0;
}
