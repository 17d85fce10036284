// SPDX-License-Identifier: MIT
//
// What a GPU can do at most, measured. `rochound profile --measure-peaks` compiles this for the
// GPU's target (PEAKS_TARGET: 0x942 for gfx942) and runs it on the first GPU that HIP sees:
//
//   peaks L2_BYTES MALL_BYTES full|small
//
// L2_BYTES: of one die; MALL_BYTES: of the memory's own cache, 0 if there is none. small: each
// kernel runs once and briefly, for a software GPU. One JSON object goes to stdout: how many
// operations or bytes each kernel is made of, and the least time that it took. Results are handed
// to an empty asm statement, so that nothing is left out and nothing else is done for them.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr unsigned kBlock = 256;
constexpr unsigned kChains = 8;  // that do not wait for each other
constexpr unsigned kUnrolled = 16;
constexpr unsigned kMatrixChains = 4;
constexpr unsigned kMatrixUnrolled = 4;
constexpr unsigned kLoads = 4;  // in flight at once

template <typename Number, int kWidth>
using Vector = Number __attribute__((ext_vector_type(kWidth)));
using Float4 = Vector<float, 4>;

// Reads lines of a part of memory, the size of which decides which level they come from.
__global__ void ReadMemory(const Float4* data, unsigned mask, unsigned iterations) {
  const unsigned stride = gridDim.x * kBlock;
  unsigned place = blockIdx.x * kBlock + threadIdx.x;
  for (unsigned i = 0; i < iterations; ++i) {
    Float4 values[kLoads];
#pragma unroll
    for (unsigned k = 0; k < kLoads; ++k) values[k] = data[(place + k * stride) & mask];
    place += kLoads * stride;
#pragma unroll
    for (unsigned k = 0; k < kLoads; ++k) asm volatile("" : : "v"(values[k]) : "memory");
  }
}

__global__ void ReadLds(unsigned iterations) {
  __shared__ Float4 tile[kLoads * kBlock];
  for (unsigned k = 0; k < kLoads; ++k)
    tile[k * kBlock + threadIdx.x] = static_cast<float>(threadIdx.x);
  __syncthreads();
  for (unsigned i = 0; i < iterations; ++i) {
    const unsigned place = (threadIdx.x + i) % kBlock;
    Float4 values[kLoads];
#pragma unroll
    for (unsigned k = 0; k < kLoads; ++k) values[k] = tile[k * kBlock + place];
#pragma unroll
    for (unsigned k = 0; k < kLoads; ++k) asm volatile("" : : "v"(values[k]) : "memory");
  }
}

// Fused multiply-adds of a vector unit, as wide as its packed instructions.
template <typename Number, typename Wide>
__global__ void MultiplyAdd(unsigned iterations, Number factor, Number addend) {
  Wide sums[kChains];
#pragma unroll
  for (unsigned c = 0; c < kChains; ++c) sums[c] = static_cast<Number>(threadIdx.x + c);
  for (unsigned i = 0; i < iterations; ++i) {
#pragma unroll
    for (unsigned k = 0; k < kUnrolled; ++k) {
#pragma unroll
      for (unsigned c = 0; c < kChains; ++c) sums[c] = sums[c] * factor + addend;
    }
  }
#pragma unroll
  for (unsigned c = 0; c < kChains; ++c) asm volatile("" : : "v"(sums[c]));
}

// Matrix instructions: Multiply is one of them, of kProducts multiply-adds for each wave.
template <typename Matrix>
__global__ void MultiplyMatrices(unsigned iterations, unsigned seed) {
  using Factor = typename Matrix::Factor;
  unsigned words[sizeof(Factor) / sizeof(unsigned)];
  for (unsigned w = 0; w < sizeof(words) / sizeof(words[0]); ++w)
    words[w] = (seed + threadIdx.x) * (2 * w + 3);
  Factor factor;
  __builtin_memcpy(&factor, words, sizeof(factor));
  typename Matrix::Sum sums[kMatrixChains] = {};
  for (unsigned i = 0; i < iterations; ++i) {
#pragma unroll
    for (unsigned k = 0; k < kMatrixUnrolled; ++k) {
#pragma unroll
      for (unsigned c = 0; c < kMatrixChains; ++c)
        sums[c] = Matrix::Multiply(factor, factor, sums[c]);
    }
  }
#pragma unroll
  for (unsigned c = 0; c < kMatrixChains; ++c) {
    // A register of it: asm takes no wide ones, and one is made by the whole chain.
    asm volatile("" : : "v"(sums[c][0]));
  }
}

#if defined(__HIP_DEVICE_COMPILE__)
#define MATRIX_RESULT(call) return call
#else
#define MATRIX_RESULT(call) return sum
#endif
#define MATRIX(Name, FactorType, SumType, products, call)                                \
  struct Name {                                                                          \
    using Factor = FactorType;                                                           \
    using Sum = SumType;                                                                 \
    static constexpr double kProducts = products;                                        \
    static __device__ Sum Multiply([[maybe_unused]] Factor a, [[maybe_unused]] Factor b, \
                                   Sum sum) {                                            \
      MATRIX_RESULT(call);                                                               \
    }                                                                                    \
  };

using Double4 = Vector<double, 4>;
using Float2 = Vector<float, 2>;
using Float8 = Vector<float, 8>;
using Float16 = Vector<float, 16>;
using Half2 = Vector<_Float16, 2>;
using Half4 = Vector<_Float16, 4>;
using Half8 = Vector<_Float16, 8>;
using Half16 = Vector<_Float16, 16>;
using Short4 = Vector<short, 4>;
using Short8 = Vector<short, 8>;
using Short16 = Vector<short, 16>;
using Int2 = Vector<int, 2>;
using Int4 = Vector<int, 4>;
using Int8 = Vector<int, 8>;
using Int16 = Vector<int, 16>;

#if PEAKS_TARGET == 0x90a || PEAKS_TARGET == 0x942 || PEAKS_TARGET == 0x950
MATRIX(MatrixF64, double, Double4, 16 * 16 * 4,
       __builtin_amdgcn_mfma_f64_16x16x4f64(a, b, sum, 0, 0, 0))
MATRIX(MatrixF32, float, Float16, 32 * 32 * 2,
       __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, sum, 0, 0, 0))
#endif
#if PEAKS_TARGET == 0x90a || PEAKS_TARGET == 0x942
MATRIX(MatrixF16, Half4, Float16, 32 * 32 * 8,
       __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, sum, 0, 0, 0))
MATRIX(MatrixBF16, Short4, Float16, 32 * 32 * 8,
       __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, sum, 0, 0, 0))
#endif
#if PEAKS_TARGET == 0x90a
MATRIX(MatrixI8, int, Int16, 32 * 32 * 8, __builtin_amdgcn_mfma_i32_32x32x8i8(a, b, sum, 0, 0, 0))
#elif PEAKS_TARGET == 0x942
MATRIX(MatrixXF32, Float2, Float16, 32 * 32 * 4,
       __builtin_amdgcn_mfma_f32_32x32x4_xf32(a, b, sum, 0, 0, 0))
MATRIX(MatrixFP8, long, Float16, 32 * 32 * 16,
       __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(a, b, sum, 0, 0, 0))
MATRIX(MatrixI8, long, Int16, 32 * 32 * 16,
       __builtin_amdgcn_mfma_i32_32x32x16_i8(a, b, sum, 0, 0, 0))
#elif PEAKS_TARGET == 0x950
using Bfloat8 = Vector<__bf16, 8>;
MATRIX(MatrixF16, Half8, Float16, 32 * 32 * 16,
       __builtin_amdgcn_mfma_f32_32x32x16_f16(a, b, sum, 0, 0, 0))
MATRIX(MatrixBF16, Bfloat8, Float16, 32 * 32 * 16,
       __builtin_amdgcn_mfma_f32_32x32x16_bf16(a, b, sum, 0, 0, 0))
MATRIX(MatrixI8, Int4, Int16, 32 * 32 * 32,
       __builtin_amdgcn_mfma_i32_32x32x32_i8(a, b, sum, 0, 0, 0))
// Formats 0 and 4: 8 bits and 4.
MATRIX(MatrixFP8, Int8, Float16, 32 * 32 * 64,
       __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a, b, sum, 0, 0, 0, 0, 0, 0))
MATRIX(MatrixF6F4, Int8, Float16, 32 * 32 * 64,
       __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a, b, sum, 4, 4, 0, 0, 0, 0))
#elif PEAKS_TARGET >= 0x1200
MATRIX(MatrixF16, Half8, Float8, 16 * 16 * 16,
       __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, sum))
MATRIX(MatrixBF16, Short8, Float8, 16 * 16 * 16,
       __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, sum))
MATRIX(MatrixFP8, Int2, Float8, 16 * 16 * 16,
       __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(a, b, sum))
MATRIX(MatrixI8, Int2, Int8, 16 * 16 * 16,
       __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, a, true, b, sum, false))
MATRIX(MatrixI4, Int2, Int8, 16 * 16 * 32,
       __builtin_amdgcn_wmma_i32_16x16x32_iu4_w32_gfx12(true, a, true, b, sum, false))
#elif PEAKS_TARGET >= 0x1100
MATRIX(MatrixF16, Half16, Float8, 16 * 16 * 16,
       __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, sum))
MATRIX(MatrixBF16, Short16, Float8, 16 * 16 * 16,
       __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, sum))
MATRIX(MatrixI8, Int4, Int8, 16 * 16 * 16,
       __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a, true, b, sum, false))
MATRIX(MatrixI4, Int2, Int8, 16 * 16 * 16,
       __builtin_amdgcn_wmma_i32_16x16x16_iu4_w32(true, a, true, b, sum, false))
#endif

void Check(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  fprintf(stderr, "%s: %s\n", what, hipGetErrorString(error));
  exit(1);
}

class Measuring {
 public:
  Measuring(unsigned groups, unsigned wave, bool small)
      : groups_(groups), wave_(wave), small_(small) {
    Check(hipEventCreate(&begin_), "hipEventCreate");
    Check(hipEventCreate(&end_), "hipEventCreate");
  }

  // of_thread: operations or bytes of one thread in one iteration. launch: starts the kernel with
  // so many workgroups and iterations.
  template <typename Launch>
  void Measure(const char* name, const char* kind, double of_thread, const Launch& launch) {
    unsigned iterations = small_ ? 2 : 64;
    double seconds = Once(launch, iterations);
    if (!small_) {
      // Long enough that what a launch costs is nothing beside it.
      for (; seconds < 0.01 && iterations < (1U << 24); iterations *= 2)
        seconds = Once(launch, 2 * iterations);
      for (int again = 0; again < 10; ++again)
        seconds = std::min(seconds, Once(launch, iterations));
    }
    printf("%s\n  {\"name\": \"%s\", \"kind\": \"%s\", \"count\": %.0f, \"seconds\": %.9g}",
           first_ ? "" : ",", name, kind, of_thread * groups_ * kBlock * iterations, seconds);
    first_ = false;
  }

  template <typename Matrix>
  void MeasureMatrix(const char* name) {
    Measure(name, "operations", 2 * Matrix::kProducts * kMatrixChains * kMatrixUnrolled / wave_,
            [this](unsigned iterations) {
              MultiplyMatrices<Matrix><<<groups_, kBlock>>>(iterations, 12345);
            });
  }
  template <typename Number, typename Wide>
  void MeasureVector(const char* name) {
    Measure(name, "operations", 2.0 * kChains * kUnrolled * sizeof(Wide) / sizeof(Number),
            [this](unsigned iterations) {
              MultiplyAdd<Number, Wide><<<groups_, kBlock>>>(iterations, static_cast<Number>(0.5f),
                                                             static_cast<Number>(1.0f));
            });
  }
  void MeasureReads(const char* name, const void* data, size_t bytes) {
    size_t part = sizeof(Float4);
    while (2 * part <= bytes) part *= 2;
    const auto mask = static_cast<unsigned>(part / sizeof(Float4) - 1);
    Measure(name, "bytes", kLoads * sizeof(Float4), [&](unsigned iterations) {
      ReadMemory<<<groups_, kBlock>>>(static_cast<const Float4*>(data), mask, iterations);
    });
  }
  void MeasureLds(const char* name) {
    Measure(name, "bytes", kLoads * sizeof(Float4),
            [this](unsigned iterations) { ReadLds<<<groups_, kBlock>>>(iterations); });
  }

 private:
  template <typename Launch>
  double Once(const Launch& launch, unsigned iterations) {
    const auto start = std::chrono::steady_clock::now();
    Check(hipEventRecord(begin_), "hipEventRecord");
    launch(iterations);
    Check(hipGetLastError(), "a launch");
    Check(hipEventRecord(end_), "hipEventRecord");
    Check(hipEventSynchronize(end_), "a kernel");
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
    float milliseconds = 0;
    Check(hipEventElapsedTime(&milliseconds, begin_, end_), "hipEventElapsedTime");
    return milliseconds > 0 ? 1e-3 * milliseconds : all.count();
  }

  const unsigned groups_, wave_;
  const bool small_;
  bool first_ = true;
  hipEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s L2_BYTES MALL_BYTES full|small\n", argv[0]);
    return 2;
  }
  const size_t l2 = strtoull(argv[1], nullptr, 10);
  const size_t mall = strtoull(argv[2], nullptr, 10);
  const bool small = strcmp(argv[3], "small") == 0;
  hipDeviceProp_t device;
  Check(hipGetDeviceProperties(&device, 0), "hipGetDeviceProperties");
  constexpr size_t kMost = size_t{2} << 30;  // what an offset of 32 bits reaches
  const size_t far =
      small ? size_t{1} << 20 : std::min(kMost, std::max(4 * mall, size_t{256} << 20));
  void* data = nullptr;
  Check(hipMalloc(&data, far), "hipMalloc");
  Check(hipMemset(data, 1, far), "hipMemset");
  Check(hipDeviceSynchronize(), "hipMemset");
  std::string name;
  for (const char letter : std::string(device.name))
    if (letter >= ' ' && letter < 127 && letter != '"' && letter != '\\') name += letter;
  printf("{\"device\": \"%s\", \"compute_units\": %d, \"measurements\": [", name.c_str(),
         device.multiProcessorCount);
  const unsigned groups = small ? 2 : 8 * static_cast<unsigned>(device.multiProcessorCount);
  Measuring measuring(groups, static_cast<unsigned>(device.warpSize), small);
  measuring.MeasureLds("lds");
  measuring.MeasureReads("l1", data, size_t{8} << 10);
  if (l2 > 0) measuring.MeasureReads("l2", data, std::min(far, l2 / 2));
  if (mall > 0) measuring.MeasureReads("mall", data, std::min(far, mall / 2));
  measuring.MeasureReads("memory", data, far);
  measuring.MeasureVector<double, double>("vector.f64");
  measuring.MeasureVector<float, Float2>("vector.f32");
  measuring.MeasureVector<_Float16, Half2>("vector.f16");
#if PEAKS_TARGET == 0x90a || PEAKS_TARGET == 0x942 || PEAKS_TARGET == 0x950
  measuring.MeasureMatrix<MatrixF64>("matrix.f64");
  measuring.MeasureMatrix<MatrixF32>("matrix.f32");
#endif
#if PEAKS_TARGET == 0x90a || PEAKS_TARGET == 0x942 || PEAKS_TARGET == 0x950 || \
    PEAKS_TARGET >= 0x1100
  measuring.MeasureMatrix<MatrixF16>("matrix.f16");
  measuring.MeasureMatrix<MatrixBF16>("matrix.bf16");
  measuring.MeasureMatrix<MatrixI8>("matrix.i8");
#endif
#if PEAKS_TARGET == 0x942
  measuring.MeasureMatrix<MatrixXF32>("matrix.xf32");
#endif
#if PEAKS_TARGET == 0x942 || PEAKS_TARGET == 0x950 || PEAKS_TARGET >= 0x1200
  measuring.MeasureMatrix<MatrixFP8>("matrix.fp8");
#endif
#if PEAKS_TARGET == 0x950
  measuring.MeasureMatrix<MatrixF6F4>("matrix.f6f4");
#endif
#if PEAKS_TARGET >= 0x1100
  measuring.MeasureMatrix<MatrixI4>("matrix.i4");
#endif
  printf("\n]}\n");
  Check(hipFree(data), "hipFree");
  return 0;
}
