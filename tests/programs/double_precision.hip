// SPDX-License-Identifier: MIT
//
// Double precision: what IEEE fixes (add, multiply, divide, square root, fma, conversions) must be
// exact, what it does not (sin, exp, log, pow) must agree to a few units in the last place.

#include "program.h"

constexpr int kExact = 9;
constexpr int kApproximate = 6;

__global__ void Doubles(const double* a, const double* b, double* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const double x = a[i], y = b[i];
  double* exact = out + i * (kExact + kApproximate);
  exact[0] = x + y;
  exact[1] = x * y;
  exact[2] = x / y;
  exact[3] = sqrt(fabs(x));
  exact[4] = fma(x, y, -x);
  exact[5] = static_cast<double>(static_cast<long long>(x * 1000));
  exact[6] = static_cast<double>(static_cast<float>(y));
  exact[7] = floor(x) + ceil(y) + trunc(x * y) + rint(x);
  exact[8] = static_cast<double>(static_cast<unsigned long long>(fabs(x) * 1e9)) +
             static_cast<double>(static_cast<int>(y));
  double* approximate = exact + kExact;
  approximate[0] = sin(x);
  approximate[1] = exp(y);
  approximate[2] = log(fabs(x) + 1e-3);
  approximate[3] = pow(fabs(x) + 0.1, y);
  approximate[4] = atan2(x, y);
  approximate[5] = cbrt(x);
}

int main() {
  program::Begin("double_precision");
  const int count = 512;
  program::Random random(5);
  std::vector<double> a(count), b(count);
  for (int i = 0; i < count; ++i) {
    a[i] = static_cast<double>(random.Next() >> 11) / (1ull << 53) * 200 - 100;
    b[i] = static_cast<double>(random.Next() >> 11) / (1ull << 53) * 20 - 10;
  }
  double* device_a = program::NewDevice(a);
  double* device_b = program::NewDevice(b);
  const int columns = kExact + kApproximate;
  double* device_out = program::NewDevice<double>(count * columns);
  LAUNCH(Doubles, count / 128, 128, 0, nullptr, device_a, device_b, device_out, count);
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<double> out = program::Download(device_out, count * columns);
  for (int i = 0; i < count; ++i) {
    const double x = a[i], y = b[i];
    const double want[kExact + kApproximate] = {
        x + y,
        x * y,
        x / y,
        sqrt(fabs(x)),
        fma(x, y, -x),
        static_cast<double>(static_cast<long long>(x * 1000)),
        static_cast<double>(static_cast<float>(y)),
        floor(x) + ceil(y) + trunc(x * y) + rint(x),
        static_cast<double>(static_cast<unsigned long long>(fabs(x) * 1e9)) +
            static_cast<double>(static_cast<int>(y)),
        sin(x),
        exp(y),
        log(fabs(x) + 1e-3),
        pow(fabs(x) + 0.1, y),
        atan2(x, y),
        cbrt(x)};
    for (int f = 0; f < columns; ++f) {
      const double got = out[i * columns + f];
      const double tolerance = f < kExact ? 0 : 1e-14;
      CHECK(program::Near(got, want[f], tolerance, tolerance),
            "function %d of (%.17g, %.17g) = %.17g, wanted %.17g", f, x, y, got, want[f]);
    }
  }
  for (double* pointer : {device_a, device_b, device_out}) program::Free(pointer);
  return program::Pass();
}
