// SPDX-License-Identifier: MIT
//
// Single-precision mathematical functions of the device library, against the host's. Both are
// approximations, so the comparison allows a few units in the last place, more for the fast ones.

#include "program.h"

// clang-format off
#define UNARY(X) \
  X(sinf, 0, 4e-7) \
  X(cosf, 0, 4e-7) \
  X(tanf, 2e-6, 1e-6) \
  X(asinf, 1e-6, 1e-7) \
  X(acosf, 1e-6, 1e-7) \
  X(atanf, 1e-6, 1e-7) \
  X(sinhf, 1e-6, 1e-7) \
  X(coshf, 1e-6, 1e-7) \
  X(tanhf, 1e-6, 1e-7) \
  X(asinhf, 2e-6, 1e-7) \
  X(expf, 1e-6, 1e-9) \
  X(exp2f, 1e-6, 1e-9) \
  X(exp10f, 2e-6, 1e-9) \
  X(expm1f, 1e-6, 1e-8) \
  X(logf, 1e-6, 2e-7) \
  X(log2f, 1e-6, 2e-7) \
  X(log10f, 1e-6, 2e-7) \
  X(log1pf, 1e-6, 1e-8) \
  X(sqrtf, 0, 0) \
  X(cbrtf, 1e-6, 0) \
  X(erff, 1e-6, 1e-7) \
  X(erfcf, 4e-6, 1e-7) \
  X(tgammaf, 1e-5, 1e-7) \
  X(lgammaf, 1e-5, 2e-6) \
  X(fabsf, 0, 0) \
  X(floorf, 0, 0) \
  X(ceilf, 0, 0) \
  X(truncf, 0, 0) \
  X(roundf, 0, 0) \
  X(rintf, 0, 0)

#define BINARY(X) \
  X(powf, 2e-6, 1e-9) \
  X(atan2f, 1e-6, 1e-7) \
  X(fmodf, 0, 0) \
  X(remainderf, 0, 0) \
  X(hypotf, 1e-6, 0) \
  X(fminf, 0, 0) \
  X(fmaxf, 0, 0) \
  X(fdimf, 0, 0) \
  X(copysignf, 0, 0) \
  X(nextafterf, 0, 0)
// clang-format on

struct Function {
  const char* name;
  double relative;
  double absolute;
};

#define ROW(function, relative, absolute) {#function, relative, absolute},
const Function kUnary[] = {UNARY(ROW)};
const Function kBinary[] = {BINARY(ROW)};
constexpr int kUnaryCount = sizeof(kUnary) / sizeof(Function);
constexpr int kBinaryCount = sizeof(kBinary) / sizeof(Function);

#define APPLY_UNARY(function, relative, absolute) *out = function(x), out += stride;
#define APPLY_BINARY(function, relative, absolute) *out = function(x, y), out += stride;

__host__ __device__ void Apply(float x, float y, float* out,
                               int stride){UNARY(APPLY_UNARY) BINARY(APPLY_BINARY)}

__global__ void Math(const float* x, const float* y, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) Apply(x[i], y[i], out + i, count);
}

__global__ void Fast(const float* x, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  out[i] = __sinf(x[i]);
  out[count + i] = __cosf(x[i]);
  out[2 * count + i] = __expf(x[i]);
  out[3 * count + i] = __logf(fabsf(x[i]) + 0.5f);
  out[4 * count + i] = rsqrtf(fabsf(x[i]) + 0.5f);
  int exponent = 0;
  const float mantissa = frexpf(x[i], &exponent);
  out[5 * count + i] = ldexpf(mantissa, exponent + 3);
  float whole = 0;
  out[6 * count + i] = modff(x[i], &whole) + whole;
  out[7 * count + i] = fmaf(x[i], 3.0f, 1.0f);
}

int main() {
  program::Begin("math_functions");
  const int count = 192;
  program::Random random(3);
  std::vector<float> x(count), y(count);
  for (int i = 0; i < count; ++i) {
    x[i] = static_cast<float>(random.Below(2000000)) * 1e-5f - 10.0f;
    y[i] = static_cast<float>(random.Below(1000000)) * 1e-5f - 5.0f;
  }
  const float special[] = {0.0f, 1.0f, -1.0f, 0.5f, -0.5f, INFINITY, -INFINITY, NAN, 1e-3f, 20.0f};
  for (int i = 0; i < 10; ++i) x[i] = special[i], y[i] = special[(i * 3 + 1) % 10];

  float* device_x = program::NewDevice(x);
  float* device_y = program::NewDevice(y);
  const int functions = kUnaryCount + kBinaryCount;
  float* device_out = program::NewDevice<float>(functions * count);
  LAUNCH(Math, count / 64, 64, 0, nullptr, device_x, device_y, device_out, count);
  const std::vector<float> out = program::Download(device_out, functions * count);
  for (int i = 0; i < count; ++i) {
    float want[kUnaryCount + kBinaryCount];
    Apply(x[i], y[i], want, 1);
    for (int f = 0; f < functions; ++f) {
      const Function& function = f < kUnaryCount ? kUnary[f] : kBinary[f - kUnaryCount];
      CHECK(program::Near(out[f * count + i], want[f], function.relative, function.absolute),
            "%s(%.9g, %.9g) = %.9g, wanted %.9g", function.name, x[i], y[i], out[f * count + i],
            want[f]);
    }
  }

  LAUNCH(Fast, count / 64, 64, 0, nullptr, device_x, device_out, count);
  const std::vector<float> fast = program::Download(device_out, 8 * count);
  for (int i = 10; i < count; ++i) {
    const double want[] = {sin(x[i]),
                           cos(x[i]),
                           exp(x[i]),
                           log(fabs(x[i]) + 0.5),
                           1 / sqrt(fabs(x[i]) + 0.5),
                           x[i] * 8.0,
                           x[i],
                           fmaf(x[i], 3.0f, 1.0f)};
    const double tolerance[] = {1e-5, 1e-5, 1e-5, 1e-5, 1e-5, 0, 1e-6, 0};
    for (int f = 0; f < 8; ++f) {
      CHECK(program::Near(fast[f * count + i], want[f], tolerance[f], tolerance[f]),
            "fast function %d of %.9g = %.9g, wanted %.9g", f, x[i], fast[f * count + i], want[f]);
    }
  }
  for (float* pointer : {device_x, device_y, device_out}) program::Free(pointer);
  return program::Pass();
}
