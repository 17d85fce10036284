// SPDX-License-Identifier: MIT
//
// shapes COUNTxTIMES...: launches one kernel with so many elements, so many times, and prints a
// number for each count. Its work grows with the count.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

extern "C" __global__ void triple(const float* in, float* out, int count) {
  const int i = static_cast<int>(blockIdx.x * 64 + threadIdx.x);
  if (i >= count) return;
  float sum = 0;
  for (int k = 0; k < count; k += 16) sum = *const_cast<const volatile float*>(in + i) * 3;
  out[i] = sum;
}

int main(int argc, char** argv) {
  for (int k = 1; k < argc; ++k) {
    char* end = nullptr;
    const long count = strtol(argv[k], &end, 10);
    const long times = *end == 'x' ? strtol(end + 1, nullptr, 10) : 1;
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 100) + 0.5F;
    float *in = nullptr, *out = nullptr;
    const size_t bytes = values.size() * sizeof(float);
    if (hipMalloc(&in, bytes) != hipSuccess || hipMalloc(&out, bytes) != hipSuccess ||
        hipMemcpy(in, values.data(), bytes, hipMemcpyDefault) != hipSuccess)
      return 1;
    for (long i = 0; i < times; ++i)
      triple<<<static_cast<unsigned>((count + 63) / 64), 64>>>(in, out, static_cast<int>(count));
    if (hipMemcpy(values.data(), out, bytes, hipMemcpyDefault) != hipSuccess) return 1;
    double sum = 0;
    for (const float value : values) sum += value;
    printf("%ld: %g\n", count, sum);
  }
}
