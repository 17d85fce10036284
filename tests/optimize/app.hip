// SPDX-License-Identifier: MIT
//
// Launches each kernel of kernels.hip in two shapes, and prints a number for each; `idle` once,
// which changes nothing.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

#include "kernels.hip"

#define CHECK(call)                                                 \
  do {                                                              \
    if (const hipError_t error = (call); error != hipSuccess) {     \
      fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error)); \
      return 1;                                                     \
    }                                                               \
  } while (false)

template <typename T>
T* OnGpu(const std::vector<T>& values) {
  T* at = nullptr;
  if (hipMalloc(&at, values.size() * sizeof(T)) != hipSuccess ||
      hipMemcpy(at, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice) != hipSuccess)
    return nullptr;
  return at;
}

template <typename T>
double Sum(const T* at, int count) {
  std::vector<T> values(static_cast<size_t>(count));
  if (hipMemcpy(values.data(), at, values.size() * sizeof(T), hipMemcpyDeviceToHost) != hipSuccess)
    return -1;
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i)
    sum += static_cast<double>(values[i]) * static_cast<double>(i % 7 + 1);
  return sum;
}

template <typename T>
std::vector<T> Counting(int count, int modulus) {
  std::vector<T> values(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) values[static_cast<size_t>(i)] = static_cast<T>(i % modulus);
  return values;
}

int main(int argc, char**) {
  const int repeats = argc > 1 ? 20 : 1;
  for (const int count : {1000, 5000}) {
    const int groups = (count + kGroup - 1) / kGroup;
    float* const in = OnGpu(Counting<float>(count, 1 << 20));
    float* const out = OnGpu(std::vector<float>(static_cast<size_t>(count)));
    std::vector<float> right = Counting<float>(count, 1 << 20);
    for (float& value : right) value *= 2;
    float* const spare = OnGpu(right);
    for (int i = 0; i < repeats; ++i) scale<<<groups, kGroup>>>(in, out, count, spare);
    printf("scale %g\n", Sum(out, count));
    float* const blurred = OnGpu(std::vector<float>(static_cast<size_t>(count)));
    for (int i = 0; i < repeats; ++i) blur<<<groups, kGroup>>>(in, blurred, count);
    printf("blur %g\n", Sum(blurred, count));
    int* const numbers = OnGpu(Counting<int>(count, 97));
    int* const sum = OnGpu(std::vector<int>(static_cast<size_t>(groups)));
    for (int i = 0; i < repeats; ++i) sums<<<groups, kGroup>>>(numbers, sum, count);
    printf("sums %g\n", Sum(sum, groups));
    unsigned* const values = OnGpu(Counting<unsigned>(count, 61));
    unsigned* const counts = OnGpu(std::vector<unsigned>(16));
    for (int i = 0; i < repeats; ++i) bins<<<groups, kGroup>>>(values, counts, count);
    printf("bins %g\n", Sum(counts, 16));
  }
  for (const int size : {64, 96}) {
    const int tiles = size / kTile * (size / kTile);
    float* const a = OnGpu(Counting<float>(size * size, 1 << 20));
    float* const b = OnGpu(Counting<float>(size * size, 13));
    float* const c = OnGpu(std::vector<float>(static_cast<size_t>(size * size)));
    for (int i = 0; i < repeats; ++i) transpose<<<tiles, kTile * kTile>>>(a, c, size);
    printf("transpose %g\n", Sum(c, size * size));
    float* const product = OnGpu(std::vector<float>(static_cast<size_t>(size * size)));
    for (int i = 0; i < repeats; ++i) gemm<<<tiles, kTile * kTile>>>(a, b, product, size);
    printf("gemm %g\n", Sum(product, size * size));
  }
  idle<<<1, kGroup, 48 << 10>>>(OnGpu(std::vector<float>(kGroup)), 0);
  CHECK(hipDeviceSynchronize());
  return 0;
}
