// SPDX-License-Identifier: MIT
//
// Matrix instructions of RDNA, one wave of 32 and one instruction each, in every input type: the
// lanes' registers are filled by the documented layout, and the result is compared with a product
// on the host. Small whole numbers keep it exact. mfma.hip is the same for CDNA.

#include "program.h"

using float8v = float __attribute__((ext_vector_type(8)));
using half8v = _Float16 __attribute__((ext_vector_type(8)));
using half16v = _Float16 __attribute__((ext_vector_type(16)));
using short8v = short __attribute__((ext_vector_type(8)));
using short16v = short __attribute__((ext_vector_type(16)));
using int2v = int __attribute__((ext_vector_type(2)));
using int4v = int __attribute__((ext_vector_type(4)));
using int8v = int __attribute__((ext_vector_type(8)));

enum Kind { kF16, kBf16, kI8, kF16ToF16, kFp8, kKinds };
constexpr const char* kNames[kKinds] = {"f16", "bf16", "i8", "f16 to f16", "fp8"};

constexpr int kSize = 16;  // rows, columns and depth
constexpr int kLanes = 32;
constexpr int kResults = 8;

__device__ inline short Brain(float value) {
  return static_cast<short>(__float_as_uint(value) >> 16);
}

// Four values of -2 to 2 as bytes: whole numbers, or e4m3 of the Open Compute Project.
__device__ inline int Bytes(const float* in, int kind) {
  unsigned bits = 0;
  for (int e = 0; e < 4; ++e) {
    const int value = static_cast<int>(in[e]);
    const int size = value < 0 ? -value : value;
    unsigned byte = static_cast<unsigned char>(value);
    if (kind == kFp8) byte = size == 0 ? 0 : (value < 0 ? 0x80 : 0) | (size == 1 ? 0x38 : 0x40);
    bits |= byte << (e * 8);
  }
  return static_cast<int>(bits);
}

template <typename Vector>
__device__ inline void Store(float* out, Vector vector) {
  for (int r = 0; r < kResults; ++r) out[r] = static_cast<float>(vector[r]);
}

// What is added to the product.
constexpr float kAdd = 3;

__global__ void Wmma([[maybe_unused]] int kind, [[maybe_unused]] const float* all_a,
                     [[maybe_unused]] const float* all_b, [[maybe_unused]] float* all_out) {
#if defined(__gfx1100__) || defined(__gfx1201__)
  const float* a = all_a + threadIdx.x * kSize;
  const float* b = all_b + threadIdx.x * kSize;
  float* out = all_out + threadIdx.x * kResults;
  const float8v add = kAdd;
  const int8v integer_add = static_cast<int>(kAdd);
#if defined(__gfx1100__)
  half16v half_a, half_b;
  short16v brain_a, brain_b;
  for (int e = 0; e < kSize; ++e) {
    half_a[e] = static_cast<_Float16>(a[e]);
    half_b[e] = static_cast<_Float16>(b[e]);
    brain_a[e] = Brain(a[e]);
    brain_b[e] = Brain(b[e]);
  }
  int4v bytes_a, bytes_b;
  for (int d = 0; d < 4; ++d) {
    bytes_a[d] = Bytes(a + d * 4, kind);
    bytes_b[d] = Bytes(b + d * 4, kind);
  }
  switch (kind) {
    case kF16:
      Store(out, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(half_a, half_b, add));
      break;
    case kBf16:
      Store(out, __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(brain_a, brain_b, add));
      break;
    case kI8:
      Store(out, __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, bytes_a, true, bytes_b,
                                                            integer_add, false));
      break;
    case kF16ToF16: {
      // The results are in the lower halves of eight registers.
      const half16v half_add = static_cast<_Float16>(kAdd);
      const half16v result =
          __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(half_a, half_b, half_add, false);
      for (int r = 0; r < kResults; ++r) out[r] = static_cast<float>(result[2 * r]);
      break;
    }
  }
#else
  half8v half_a, half_b;
  short8v brain_a, brain_b;
  for (int e = 0; e < kSize / 2; ++e) {
    half_a[e] = static_cast<_Float16>(a[e]);
    half_b[e] = static_cast<_Float16>(b[e]);
    brain_a[e] = Brain(a[e]);
    brain_b[e] = Brain(b[e]);
  }
  const int2v bytes_a = {Bytes(a, kind), Bytes(a + 4, kind)};
  const int2v bytes_b = {Bytes(b, kind), Bytes(b + 4, kind)};
  switch (kind) {
    case kF16:
      Store(out, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(half_a, half_b, add));
      break;
    case kBf16:
      Store(out, __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(brain_a, brain_b, add));
      break;
    case kI8:
      Store(out, __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, bytes_a, true, bytes_b,
                                                                  integer_add, false));
      break;
    case kF16ToF16: {
      const half8v half_add = static_cast<_Float16>(kAdd);
      Store(out, __builtin_amdgcn_wmma_f16_16x16x16_f16_w32_gfx12(half_a, half_b, half_add));
      break;
    }
    case kFp8:
      Store(out, __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(bytes_a, bytes_b, add));
      break;
  }
#endif
#endif
}

int main() {
  program::Begin("wmma");
  hipDeviceProp_t properties;
  HIP_CALL(hipGetDeviceProperties(&properties, 0));
  const bool gfx11 = strncmp(properties.gcnArchName, "gfx1100", 7) == 0;
  const bool gfx12 = strncmp(properties.gcnArchName, "gfx1201", 7) == 0;
  if (!gfx11 && !gfx12) {
    program::Skip("the matrix instructions tested are RDNA 3's and 4's, the device is %s",
                  properties.gcnArchName);
  }
  float* device_a = program::NewDevice<float>(kLanes * kSize);
  float* device_b = program::NewDevice<float>(kLanes * kSize);
  float* device_out = program::NewDevice<float>(kLanes * kResults);
  program::Random random(29);
  for (int kind = 0; kind < (gfx11 ? kFp8 : kKinds); ++kind) {
    // a[row][k] and b[k][column]
    std::vector<float> a(kSize * kSize), b(kSize * kSize);
    for (auto& value : a) value = static_cast<float>(random.Below(5)) - 2;
    for (auto& value : b) value = static_cast<float>(random.Below(5)) - 2;
    std::vector<float> lanes_a(kLanes * kSize), lanes_b(kLanes * kSize);
    for (int lane = 0; lane < kLanes; ++lane) {
      // gfx11: both halves of the wave hold all of a row; gfx12: each holds half of it.
      const int line = lane % kSize, first = gfx11 ? 0 : lane / kSize * 8;
      for (int e = 0; e < (gfx11 ? kSize : kSize / 2); ++e) {
        lanes_a[lane * kSize + e] = a[line * kSize + first + e];
        lanes_b[lane * kSize + e] = b[(first + e) * kSize + line];
      }
    }
    program::Upload(device_a, lanes_a);
    program::Upload(device_b, lanes_b);
    LAUNCH(Wmma, 1, kLanes, 0, nullptr, kind, device_a, device_b, device_out);
    HIP_CALL(hipDeviceSynchronize());
    const std::vector<float> out = program::Download(device_out, kLanes * kResults);
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int r = 0; r < kResults; ++r) {
        const int row = gfx11 ? 2 * r + lane / kSize : r + lane / kSize * 8;
        const int column = lane % kSize;
        float want = kAdd;
        for (int k = 0; k < kSize; ++k) want += a[row * kSize + k] * b[k * kSize + column];
        CHECK(out[lane * kResults + r] == want, "%s: row %d, column %d is %g, wanted %g",
              kNames[kind], row, column, out[lane * kResults + r], want);
      }
    }
  }
  for (float* pointer : {device_a, device_b, device_out}) program::Free(pointer);
  return program::Pass();
}
