// SPDX-License-Identifier: MIT
//
// Matrix instructions of CDNA, one wave and one instruction each, in every input type that the
// device has: the lanes' registers are filled by the documented layout, and the result is compared
// with a product on the host. Small whole numbers keep it exact. wmma.hip is the same for RDNA.

#include "program.h"

using float2v = float __attribute__((ext_vector_type(2)));
using float4v = float __attribute__((ext_vector_type(4)));
using float16v = float __attribute__((ext_vector_type(16)));
using int4v = int __attribute__((ext_vector_type(4)));
using int16v = int __attribute__((ext_vector_type(16)));
using half4v = _Float16 __attribute__((ext_vector_type(4)));
using half8v = _Float16 __attribute__((ext_vector_type(8)));
#if defined(__gfx950__)
using brain8v = __bf16 __attribute__((ext_vector_type(8)));
#endif
using short4v = short __attribute__((ext_vector_type(4)));
using double4v = double __attribute__((ext_vector_type(4)));

enum Kind {
  kF32x16,
  kF32x32,
  kF16x16,
  kF16x32,
  kF16x4,
  kBf16x16,
  kBf16x32,
  kI8x16,
  kI8x32,
  kFp8x16,
  kBf8x32,
  kXf32x16,
  kF64x16,
  kI8x16Short,
  kI8x32Short,
  kF16x16Long,
  kBf16x32Long,
  kI8x16Long,
  kKinds
};

constexpr int kMaxPerLane = 16;

// Which devices have it.
enum Device { kMi250x = 1, kMi300x = 2, kMi355x = 4, kAll = 7 };

struct Shape {
  const char* name;
  int devices;
  int size;      // rows and columns of one block
  int depth;     // the k that is summed over
  int per_lane;  // inputs in one lane
  int results;   // outputs in one lane
};

constexpr Shape kShapes[kKinds] = {
    {"f32 16x16x4", kAll, 16, 4, 1, 4},
    {"f32 32x32x2", kAll, 32, 2, 1, 16},
    {"f16 16x16x16", kAll, 16, 16, 4, 4},
    {"f16 32x32x8", kAll, 32, 8, 4, 16},
    {"f16 4x4x4", kAll, 4, 4, 4, 4},
    {"bf16 16x16x16", kAll, 16, 16, 4, 4},
    {"bf16 32x32x8", kAll, 32, 8, 4, 16},
    {"i8 16x16x32", kMi300x | kMi355x, 16, 32, 8, 4},
    {"i8 32x32x16", kMi300x | kMi355x, 32, 16, 8, 16},
    {"fp8 16x16x32", kMi300x | kMi355x, 16, 32, 8, 4},
    {"bf8 32x32x16", kMi300x | kMi355x, 32, 16, 8, 16},
    {"xf32 16x16x8", kMi300x, 16, 8, 2, 4},
    {"f64 16x16x4", kAll, 16, 4, 1, 4},
    {"i8 16x16x16", kMi250x, 16, 16, 4, 4},
    {"i8 32x32x8", kMi250x, 32, 8, 4, 16},
    {"f16 16x16x32", kMi355x, 16, 32, 8, 4},
    {"bf16 32x32x16", kMi355x, 32, 16, 8, 16},
    {"i8 16x16x64", kMi355x, 16, 64, 16, 4},
};

// The values are -2, -1, 0, 1, 2: exact in every type. The 8-bit ones are e4m3fnuz and e5m2fnuz on
// gfx942, and e4m3 and e5m2 of the Open Compute Project, whose exponents are one less, on gfx950.
__device__ inline long Encode8(const float* in, int kind) {
  unsigned long bits = 0;
  for (int e = 0; e < 8; ++e) {
    const int value = static_cast<int>(in[e]);
    const int size = value < 0 ? -value : value;
    unsigned byte = static_cast<unsigned char>(value);
#if defined(__gfx950__)
    const int fp8 = size == 1 ? 0x38 : 0x40, bf8 = size == 1 ? 0x3C : 0x40;
#else
    const int fp8 = size == 1 ? 0x40 : 0x48, bf8 = size == 1 ? 0x40 : 0x44;
#endif
    if (kind == kFp8x16) byte = size == 0 ? 0 : (value < 0 ? 0x80 : 0) | fp8;
    if (kind == kBf8x32) byte = size == 0 ? 0 : (value < 0 ? 0x80 : 0) | bf8;
    bits |= static_cast<unsigned long>(byte) << (e * 8);
  }
  return static_cast<long>(bits);
}

template <typename Vector>
__device__ inline void Store(float* out, Vector vector, int results) {
  for (int r = 0; r < results; ++r) out[r] = static_cast<float>(vector[r]);
}

__global__ void Mfma([[maybe_unused]] int kind, [[maybe_unused]] const float* all_a,
                     [[maybe_unused]] const float* all_b, [[maybe_unused]] float* all_out) {
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
  const float* a = all_a + threadIdx.x * kMaxPerLane;
  const float* b = all_b + threadIdx.x * kMaxPerLane;
  float* out = all_out + threadIdx.x * 16;
  const half4v half_a = {(_Float16)a[0], (_Float16)a[1], (_Float16)a[2], (_Float16)a[3]};
  const half4v half_b = {(_Float16)b[0], (_Float16)b[1], (_Float16)b[2], (_Float16)b[3]};
  short4v brain_a, brain_b;
  for (int e = 0; e < 4; ++e) {
    brain_a[e] = static_cast<short>(__float_as_uint(a[e]) >> 16);
    brain_b[e] = static_cast<short>(__float_as_uint(b[e]) >> 16);
  }
  [[maybe_unused]] const long bytes_a = Encode8(a, kind), bytes_b = Encode8(b, kind);
  // What is added to the product.
  const float4v add4 = 3.0f;
  const float16v add16 = 3.0f;
  const int4v iadd4 = 3;
  const int16v iadd16 = 3;
  const double4v dadd4 = 3.0;
  switch (kind) {
    case kF32x16:
      Store(out, __builtin_amdgcn_mfma_f32_16x16x4f32(a[0], b[0], add4, 0, 0, 0), 4);
      break;
    case kF32x32:
      Store(out, __builtin_amdgcn_mfma_f32_32x32x2f32(a[0], b[0], add16, 0, 0, 0), 16);
      break;
    case kF16x16:
      Store(out, __builtin_amdgcn_mfma_f32_16x16x16f16(half_a, half_b, add4, 0, 0, 0), 4);
      break;
    case kF16x32:
      Store(out, __builtin_amdgcn_mfma_f32_32x32x8f16(half_a, half_b, add16, 0, 0, 0), 16);
      break;
    case kF16x4:
      Store(out, __builtin_amdgcn_mfma_f32_4x4x4f16(half_a, half_b, add4, 0, 0, 0), 4);
      break;
    case kBf16x16:
      Store(out, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(brain_a, brain_b, add4, 0, 0, 0), 4);
      break;
    case kBf16x32:
      Store(out, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(brain_a, brain_b, add16, 0, 0, 0), 16);
      break;
    case kF64x16:
      Store(out, __builtin_amdgcn_mfma_f64_16x16x4f64(a[0], b[0], dadd4, 0, 0, 0), 4);
      break;
#if defined(__gfx90a__)
    case kI8x16Short:
      Store(out,
            __builtin_amdgcn_mfma_i32_16x16x16i8(static_cast<int>(bytes_a),
                                                 static_cast<int>(bytes_b), iadd4, 0, 0, 0),
            4);
      break;
    case kI8x32Short:
      Store(out,
            __builtin_amdgcn_mfma_i32_32x32x8i8(static_cast<int>(bytes_a),
                                                static_cast<int>(bytes_b), iadd16, 0, 0, 0),
            16);
      break;
#else
    case kI8x16:
      Store(out, __builtin_amdgcn_mfma_i32_16x16x32_i8(bytes_a, bytes_b, iadd4, 0, 0, 0), 4);
      break;
    case kI8x32:
      Store(out, __builtin_amdgcn_mfma_i32_32x32x16_i8(bytes_a, bytes_b, iadd16, 0, 0, 0), 16);
      break;
    case kFp8x16:
      Store(out, __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(bytes_a, bytes_b, add4, 0, 0, 0), 4);
      break;
    case kBf8x32:
      Store(out, __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8(bytes_a, bytes_b, add16, 0, 0, 0), 16);
      break;
#endif
#if defined(__gfx942__)
    case kXf32x16: {
      const float2v two_a = {a[0], a[1]}, two_b = {b[0], b[1]};
      Store(out, __builtin_amdgcn_mfma_f32_16x16x8_xf32(two_a, two_b, add4, 0, 0, 0), 4);
      break;
    }
#elif defined(__gfx950__)
    case kF16x16Long: {
      half8v long_a, long_b;
      for (int e = 0; e < 8; ++e) {
        long_a[e] = static_cast<_Float16>(a[e]);
        long_b[e] = static_cast<_Float16>(b[e]);
      }
      Store(out, __builtin_amdgcn_mfma_f32_16x16x32_f16(long_a, long_b, add4, 0, 0, 0), 4);
      break;
    }
    case kBf16x32Long: {
      brain8v long_a, long_b;
      for (int e = 0; e < 8; ++e) {
        long_a[e] = static_cast<__bf16>(a[e]);
        long_b[e] = static_cast<__bf16>(b[e]);
      }
      Store(out, __builtin_amdgcn_mfma_f32_32x32x16_bf16(long_a, long_b, add16, 0, 0, 0), 16);
      break;
    }
    case kI8x16Long: {
      const long more_a = Encode8(a + 8, kind), more_b = Encode8(b + 8, kind);
      const int4v long_a = {static_cast<int>(bytes_a), static_cast<int>(bytes_a >> 32),
                            static_cast<int>(more_a), static_cast<int>(more_a >> 32)};
      const int4v long_b = {static_cast<int>(bytes_b), static_cast<int>(bytes_b >> 32),
                            static_cast<int>(more_b), static_cast<int>(more_b >> 32)};
      Store(out, __builtin_amdgcn_mfma_i32_16x16x64_i8(long_a, long_b, iadd4, 0, 0, 0), 4);
      break;
    }
#endif
  }
#endif
}

int main() {
  program::Begin("mfma");
  hipDeviceProp_t properties;
  HIP_CALL(hipGetDeviceProperties(&properties, 0));
  const std::string architecture(properties.gcnArchName, 6);
  const int device = architecture == "gfx90a"   ? kMi250x
                     : architecture == "gfx942" ? kMi300x
                     : architecture == "gfx950" ? kMi355x
                                                : 0;
  if (device == 0) {
    program::Skip("the matrix instructions tested are CDNA's, the device is %s",
                  properties.gcnArchName);
  }
  float* device_a = program::NewDevice<float>(64 * kMaxPerLane);
  float* device_b = program::NewDevice<float>(64 * kMaxPerLane);
  float* device_out = program::NewDevice<float>(64 * 16);
  program::Random random(23);
  for (int kind = 0; kind < kKinds; ++kind) {
    const Shape& shape = kShapes[kind];
    if (!(shape.devices & device)) continue;
    const int n = shape.size, blocks = n == 4 ? 16 : 1;
    // a[block][row][k] and b[block][k][column]
    std::vector<float> a(blocks * n * shape.depth), b(a.size()), lanes_a(64 * kMaxPerLane),
        lanes_b(64 * kMaxPerLane);
    for (auto& value : a) value = static_cast<float>(random.Below(5)) - 2;
    for (auto& value : b) value = static_cast<float>(random.Below(5)) - 2;
    for (int lane = 0; lane < 64; ++lane) {
      const int block = blocks > 1 ? lane / n : 0;
      for (int e = 0; e < shape.per_lane; ++e) {
        const int k = (blocks > 1 ? 0 : lane / n * shape.per_lane) + e;
        lanes_a[lane * kMaxPerLane + e] = a[(block * n + lane % n) * shape.depth + k];
        lanes_b[lane * kMaxPerLane + e] = b[(block * shape.depth + k) * n + lane % n];
      }
    }
    program::Upload(device_a, lanes_a);
    program::Upload(device_b, lanes_b);
    LAUNCH(Mfma, 1, 64, 0, nullptr, kind, device_a, device_b, device_out);
    HIP_CALL(hipDeviceSynchronize());
    const std::vector<float> out = program::Download(device_out, 64 * 16);
    for (int lane = 0; lane < 64; ++lane) {
      for (int r = 0; r < shape.results; ++r) {
        const int block = blocks > 1 ? lane / n : 0;
        int row = r / 4 * 8 + lane / n * 4 + r % 4;
        if (blocks > 1) row = r;
        if (kind == kF64x16) row = r * 4 + lane / n;
        float want = 3;
        for (int k = 0; k < shape.depth; ++k) {
          want +=
              a[(block * n + row) * shape.depth + k] * b[(block * shape.depth + k) * n + lane % n];
        }
        CHECK(out[lane * 16 + r] == want, "%s: row %d, column %d is %g, wanted %g", shape.name, row,
              lane % n, out[lane * 16 + r], want);
      }
    }
  }
  for (float* pointer : {device_a, device_b, device_out}) program::Free(pointer);
  return program::Pass();
}
