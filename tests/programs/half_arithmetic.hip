// SPDX-License-Identifier: MIT
//
// __half and __half2: conversions with rounding, scalar and packed arithmetic, fused multiply-add
// and comparisons. The values are chosen so that every result is exact in half precision.

#include <hip/hip_fp16.h>

#include "program.h"

constexpr int kResults = 12;

__global__ void Halves(const float* a, const float* b, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const __half x = __float2half(a[i]), y = __float2half(b[i]);
  const __half2 pair = __halves2half2(x, y);
  const __half2 swapped = __halves2half2(y, x);
  float* mine = out + i * kResults;
  mine[0] = __half2float(__hadd(x, y));
  mine[1] = __half2float(__hmul(x, y));
  mine[2] = __half2float(__hfma(x, y, x));
  mine[3] = __half2float(__hsub(x, y));
  const __half2 sum = __hadd2(pair, swapped);
  mine[4] = __low2float(sum) + __high2float(sum);
  const __half2 fused = __hfma2(pair, swapped, pair);
  mine[5] = __low2float(fused);
  mine[6] = __high2float(fused);
  const __half2 product = __hmul2(pair, pair);
  mine[7] = __high2float(product);
  mine[8] = __hlt(x, y) ? 1.0f : 0.0f;
  mine[9] = static_cast<float>(__half2int_rz(__hmul(x, y)));
  mine[10] = __half2float(__float2half(a[i] * 1000.0f + 0.3f));  // rounds
  mine[11] = __half2float(hsqrt(__hmul(x, x)));
}

// float -> half -> float, to nearest even, for normal values.
float Round(float value) {
  if (value == 0) return 0;
  int exponent = 0;
  const float mantissa = frexpf(value, &exponent);
  return ldexpf(rintf(mantissa * 2048), exponent - 11);
}

int main() {
  program::Begin("half_arithmetic");
  const int count = 200;
  std::vector<float> a(count), b(count);
  for (int i = 0; i < count; ++i) {
    a[i] = static_cast<float>(i % 23) - 11;
    b[i] = static_cast<float>(i % 17) * 0.5f - 4;
  }
  float* device_a = program::NewDevice(a);
  float* device_b = program::NewDevice(b);
  float* device_out = program::NewDevice<float>(count * kResults);
  LAUNCH(Halves, (count + 63) / 64, 64, 0, nullptr, device_a, device_b, device_out, count);
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<float> out = program::Download(device_out, count * kResults);
  for (int i = 0; i < count; ++i) {
    const float x = a[i], y = b[i];
    const float want[kResults] = {x + y,
                                  x * y,
                                  x * y + x,
                                  x - y,
                                  2 * (x + y),
                                  x * y + x,
                                  x * y + y,
                                  y * y,
                                  x < y ? 1.0f : 0.0f,
                                  truncf(x * y),
                                  Round(x * 1000.0f + 0.3f),
                                  fabsf(x)};
    for (int r = 0; r < kResults; ++r) {
      CHECK(out[i * kResults + r] == want[r], "result %d of (%g, %g) is %g, wanted %g", r, x, y,
            out[i * kResults + r], want[r]);
    }
  }
  for (float* pointer : {device_a, device_b, device_out}) program::Free(pointer);
  return program::Pass();
}
