// SPDX-License-Identifier: MIT
//
// Private memory and calls: an array indexed at run time (scratch), functions that are not inlined,
// calls through a table of function pointers that differ between lanes, and recursion.

#include "program.h"

__device__ __noinline__ int Square(int x) { return x * x; }
__device__ __noinline__ int Negate(int x) { return -x; }
__device__ __noinline__ int Shift(int x) { return (x << 2) ^ 0x55; }
__device__ __noinline__ long long Mix(int a, long long b, float c, const int* d) {
  return a + b * 3 + static_cast<long long>(c) + *d;
}

using Operation = int (*)(int);
__device__ Operation const kOperations[] = {Square, Negate, Shift};

__device__ __noinline__ int Fibonacci(int n) {
  return n < 2 ? n : Fibonacci(n - 1) + Fibonacci(n - 2);
}

__global__ void PrivateArray(const int* in, int* out) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  int local[64];
  for (int k = 0; k < 64; ++k) local[k] = i * k;
  for (int k = 0; k < 64; ++k) local[(in[i] + k * 5) & 63] += local[(in[i] * 3 + k) & 63];
  int sum = 0;
  for (int k = 0; k < 64; ++k) sum += local[k] * (k + 1);
  out[i] = sum;
}

__global__ void Calls(const int* in, long long* out) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  const int local = in[i] + 7;
  out[i] = Mix(Square(in[i]), in[i], in[i] * 1.5f, &local) + kOperations[in[i] % 3](in[i]);
}

__global__ void Recursion(const int* in, int* out) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  out[i] = Fibonacci(in[i] % 7);
}

int main() {
  program::Begin("scratch_calls");
  const int count = 256;
  std::vector<int> in(count);
  program::Random random(17);
  for (auto& value : in) value = static_cast<int>(random.Below(1000));
  int* device_in = program::NewDevice(in);
  int* device_out = program::NewDevice<int>(count);
  long long* device_wide = program::NewDevice<long long>(count);

  LAUNCH(PrivateArray, count / 64, 64, 0, nullptr, device_in, device_out);
  const std::vector<int> arrays = program::Download(device_out, count);
  LAUNCH(Calls, count / 64, 64, 0, nullptr, device_in, device_wide);
  const std::vector<long long> calls = program::Download(device_wide, count);
  LAUNCH(Recursion, count / 64, 64, 0, nullptr, device_in, device_out);
  const std::vector<int> recursions = program::Download(device_out, count);

  const int fibonacci[] = {0, 1, 1, 2, 3, 5, 8};
  for (int i = 0; i < count; ++i) {
    const int x = in[i];
    int local[64];
    for (int k = 0; k < 64; ++k) local[k] = i * k;
    for (int k = 0; k < 64; ++k) local[(x + k * 5) & 63] += local[(x * 3 + k) & 63];
    int sum = 0;
    for (int k = 0; k < 64; ++k) sum += local[k] * (k + 1);
    CHECK(arrays[i] == sum, "array of thread %d gave %d, wanted %d", i, arrays[i], sum);
    const long long mix =
        static_cast<long long>(x) * x + x * 3ll + static_cast<long long>(x * 1.5f) + x + 7;
    const int operation = x % 3 == 0 ? x * x : x % 3 == 1 ? -x : (x << 2) ^ 0x55;
    CHECK(calls[i] == mix + operation, "calls of thread %d gave %lld, wanted %lld", i, calls[i],
          mix + operation);
    CHECK(recursions[i] == fibonacci[x % 7], "recursion of thread %d gave %d, wanted %d", i,
          recursions[i], fibonacci[x % 7]);
  }
  program::Free(device_in);
  program::Free(device_out);
  program::Free(device_wide);
  return program::Pass();
}
