// SPDX-License-Identifier: MIT
//
// Floats of 8 and 4 bits as the Open Compute Project defines them, with block scales: rounded to
// nearest and by random bits, and widened again. HIP's header uses the instructions of a GPU that
// has them (gfx950) and does the same in software elsewhere, on the host too, which is the oracle.
// Left out is what the header's host side does differently: a scale of 8-bit floats, which it
// ignores, and the sign of a zero that is widened to 16 bits.

#include <hip/hip_runtime.h>

#if __has_include(<hip/hip_ext_ocp.h>)
#include <hip/hip_ext_ocp.h>
#define HAS_SMALL_FLOATS 1
#else
#define HAS_SMALL_FLOATS 0
#endif

#include "program.h"

#if HAS_SMALL_FLOATS

constexpr int kResults = 8;

struct Numbers {
  float value[2];
  unsigned random;
  int scale;
};

__host__ __device__ unsigned Bits(float value) { return __builtin_bit_cast(unsigned, value); }

__host__ __device__ void Convert(const Numbers& in, unsigned* out) {
  const auto scale = static_cast<__amd_scale_t>(in.scale);
  const __amd_floatx2_storage_t singles = {in.value[0], in.value[1]};
  const __amd_fp16x2_storage_t halves = {static_cast<__amd_fp16_storage_t>(in.value[0]),
                                         static_cast<__amd_fp16_storage_t>(in.value[1])};
  out[0] = __amd_cvt_floatx2_to_fp4x2_scale(singles, __AMD_OCP_E2M1, scale);
  out[1] = __amd_cvt_fp16x2_to_fp4x2_scale(halves, __AMD_OCP_E2M1, scale);
  out[2] = __amd_cvt_floatx2_to_fp4x2_sr_scale(singles, __AMD_OCP_E2M1, in.random, scale);
  out[3] = __amd_cvt_float_to_fp8_sr(in.value[0], __AMD_OCP_E4M3, in.random);
  out[4] = __amd_cvt_float_to_fp8_sr(in.value[0], __AMD_OCP_E5M2, in.random);
  out[5] = __amd_cvt_fp16x2_to_fp8x2_scale(halves, __AMD_OCP_E4M3, 0);
  const auto code = static_cast<__amd_fp4x2_storage_t>(in.random);
  const __amd_floatx2_storage_t wide =
      __amd_cvt_fp4x2_to_floatx2_scale(code, __AMD_OCP_E2M1, scale);
  out[6] = Bits(wide[0]);
  out[7] = Bits(wide[1]);
}

__global__ void ConvertAll(const Numbers* in, unsigned* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) Convert(in[i], out + i * kResults);
}

int main() {
  program::Begin("small_floats");
  const int count = 1000;
  std::vector<Numbers> numbers(count);
  unsigned state = 2026;
  const auto random = [&state] { return state = state * 1664525 + 1013904223; };
  for (Numbers& n : numbers) {
    n.scale = static_cast<int>(random() >> 16) % 9 - 4;
    for (float& value : n.value) {
      const int exponent = static_cast<int>(random() >> 16) % 12 - 8;
      const float mantissa = 1 + static_cast<float>(random() >> 20) / 4096;
      value = ldexpf(random() >> 31 ? -mantissa : mantissa, exponent);
    }
    n.random = random();
  }
  Numbers* device_in = program::NewDevice(numbers);
  unsigned* device_out = program::NewDevice<unsigned>(count * kResults);
  LAUNCH(ConvertAll, (count + 127) / 128, 128, 0, nullptr, device_in, device_out, count);
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<unsigned> out = program::Download(device_out, count * kResults);
  for (int i = 0; i < count; ++i) {
    unsigned want[kResults];
    Convert(numbers[i], want);
    for (int r = 0; r < kResults; ++r) {
      CHECK(out[i * kResults + r] == want[r],
            "result %d of (%a, %a) with scale %d and random bits %x is %x, wanted %x", r,
            static_cast<double>(numbers[i].value[0]), static_cast<double>(numbers[i].value[1]),
            numbers[i].scale, numbers[i].random, out[i * kResults + r], want[r]);
    }
  }
  program::Free(device_in);
  program::Free(device_out);
  return program::Pass();
}

#else

int main() {
  program::Begin("small_floats");
  program::Skip("this release of HIP has no hip_ext_ocp.h");
}

#endif
