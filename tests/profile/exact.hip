// SPDX-License-Identifier: MIT
//
// Kernels whose operations and bytes are known by construction; exact_test.py says what they are
// and compares them with what the software GPU counted. The results are checked here, so that a
// kernel which computes nothing cannot pass.
#include <hip/hip_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include <vector>

#define CHECK(condition)                                  \
  do {                                                    \
    if (!(condition)) {                                   \
      printf("FAIL line %d: %s\n", __LINE__, #condition); \
      exit(1);                                            \
    }                                                     \
  } while (0)

namespace {

constexpr int kItems = 4096;
constexpr int kPartial = 1000;
constexpr int kStride = 32;  // of gather, in floats: a line of 128 bytes each
constexpr int kSide = 64;    // of the matrix that is transposed
constexpr int kM = 32, kN = 48, kK = 64;

template <typename T>
__device__ void Axpy(T a, const T* x, T* y) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  y[i] = a * x[i] + y[i];
}

typedef _Float16 Half2 __attribute__((ext_vector_type(2)));
typedef _Float16 Half4 __attribute__((ext_vector_type(4)));
typedef _Float16 Half8 __attribute__((ext_vector_type(8)));
typedef _Float16 Half16 __attribute__((ext_vector_type(16)));
typedef float Float4 __attribute__((ext_vector_type(4)));
typedef float Float8 __attribute__((ext_vector_type(8)));
typedef double Double4 __attribute__((ext_vector_type(4)));
typedef short Short4 __attribute__((ext_vector_type(4)));
typedef short Short8 __attribute__((ext_vector_type(8)));
typedef short Short16 __attribute__((ext_vector_type(16)));
typedef int Int2 __attribute__((ext_vector_type(2)));
typedef int Int4 __attribute__((ext_vector_type(4)));
typedef int Int8 __attribute__((ext_vector_type(8)));

#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define HAS_MFMA 1
#endif

// The upper half of a float's bits.
struct Bf16 {
  Bf16() = default;
  __host__ __device__ explicit Bf16(int value)
      : bits(static_cast<unsigned short>(__builtin_bit_cast(unsigned, static_cast<float>(value)) >>
                                         16)) {}
  __device__ float Wide() const {
    return __builtin_bit_cast(float, static_cast<unsigned>(bits) << 16);
  }
  unsigned short bits;
};

// Adds to sum what kStep elements of a row and of a column give.
template <typename T>
struct Multiply {
  static constexpr int kStep = 1;
  using Sum = T;
  static __device__ Sum Add(const T* a, const T* b, Sum sum) { return *a * *b + sum; }
};
template <>
struct Multiply<Bf16> {
  static constexpr int kStep = 1;
  using Sum = float;
  static __device__ Sum Add(const Bf16* a, const Bf16* b, Sum sum) {
    return __builtin_fmaf(a->Wide(), b->Wide(), sum);
  }
};
template <>
struct Multiply<signed char> {
  static constexpr int kStep = 4;
  using Sum = int;
  static __device__ Sum Add(const signed char* a, const signed char* b, Sum sum) {
    [[maybe_unused]] const int left = *reinterpret_cast<const int*>(a);
    [[maybe_unused]] const int right = *reinterpret_cast<const int*>(b);
#if defined(__gfx1100__) || defined(__gfx1201__)
    return __builtin_amdgcn_sudot4(true, left, true, right, sum, false);
#elif defined(__HIP_DEVICE_COMPILE__)
    return __builtin_amdgcn_sdot4(left, right, sum, false);
#else
    return sum;
#endif
  }
};

// One wave for each 16 x 16 of c, an element at a time; b is stored by columns.
template <typename T>
__device__ void VectorGemm(const T* a, const T* b, typename Multiply<T>::Sum* c) {
  const unsigned column = blockIdx.x * 16 + threadIdx.x % 16;
  for (unsigned i = threadIdx.x / 16; i < 16; i += blockDim.x / 16) {
    const unsigned row = blockIdx.y * 16 + i;
    typename Multiply<T>::Sum sum = 0;
    for (int k = 0; k < kK; k += Multiply<T>::kStep)
      sum = Multiply<T>::Add(a + row * kK + k, b + column * kK + k, sum);
    c[row * kN + column] = sum;
  }
}

// The wave's 16 rows of a, and columns of b; where its results go.
template <typename T>
struct Tile {
  __device__ Tile(const T* a, const T* b, typename Multiply<T>::Sum* c)
      : row(a + (blockIdx.y * 16 + threadIdx.x % 16) * kK),
        column(b + (blockIdx.x * 16 + threadIdx.x % 16) * kK),
        out(c + blockIdx.y * 16 * kN + blockIdx.x * 16 + threadIdx.x % 16),
        group(threadIdx.x / 16) {}
  template <typename V>
  __device__ V Left(int k) const {
    return *reinterpret_cast<const V*>(row + k);
  }
  template <typename V>
  __device__ V Right(int k) const {
    return *reinterpret_cast<const V*>(column + k);
  }
  const T* row;
  const T* column;
  typename Multiply<T>::Sum* out;
  unsigned group;
};

}  // namespace

extern "C" {

__global__ void axpy_f64(double a, const double* x, double* y) { Axpy(a, x, y); }
__global__ void axpy_f32(float a, const float* x, float* y) { Axpy(a, x, y); }
__global__ void axpy_f16(_Float16 a, const _Float16* x, _Float16* y) { Axpy(a, x, y); }

__global__ void partial(const float* x, float* y) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  if (i < kPartial) y[i] = x[i] + 1.0f;
}

__global__ void gemm_naive(const float* a, const float* b, float* c) {
  const unsigned row = blockIdx.y * 8 + threadIdx.y;
  const unsigned column = blockIdx.x * 8 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < kK; ++k) sum = __builtin_fmaf(a[row * kK + k], b[k * kN + column], sum);
  c[row * kN + column] = sum;
}

// One wave for each 16 x 16 of c; b is stored by columns.
__global__ void gemm_matrix(const _Float16* a, const _Float16* b, float* c) {
  const unsigned lane = threadIdx.x;
  [[maybe_unused]] const _Float16* row = a + (blockIdx.y * 16 + lane % 16) * kK;
  [[maybe_unused]] const _Float16* column = b + (blockIdx.x * 16 + lane % 16) * kK;
  [[maybe_unused]] float* out = c + blockIdx.y * 16 * kN + blockIdx.x * 16 + lane % 16;
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
  Float4 sum = {};
  for (int k = 0; k < kK; k += 16) {
    const Half4 left = *reinterpret_cast<const Half4*>(row + k + lane / 16 * 4);
    const Half4 right = *reinterpret_cast<const Half4*>(column + k + lane / 16 * 4);
    sum = __builtin_amdgcn_mfma_f32_16x16x16f16(left, right, sum, 0, 0, 0);
  }
  for (unsigned i = 0; i < 4; ++i) out[(lane / 16 * 4 + i) * kN] = sum[i];
#elif defined(__gfx1100__)
  Float8 sum = {};
  for (int k = 0; k < kK; k += 16) {
    const Half16 left = *reinterpret_cast<const Half16*>(row + k);
    const Half16 right = *reinterpret_cast<const Half16*>(column + k);
    sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(left, right, sum);
  }
  for (unsigned i = 0; i < 8; ++i) out[(2 * i + lane / 16) * kN] = sum[i];
#elif defined(__gfx1201__)
  Float8 sum = {};
  for (int k = 0; k < kK; k += 16) {
    const Half8 left = *reinterpret_cast<const Half8*>(row + k + lane / 16 * 8);
    const Half8 right = *reinterpret_cast<const Half8*>(column + k + lane / 16 * 8);
    sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(left, right, sum);
  }
  for (unsigned i = 0; i < 8; ++i) out[(lane / 16 * 8 + i) * kN] = sum[i];
#elif defined(__gfx1030__)
  // No matrix instructions: products of pairs, with the same operations.
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned line = lane / 16 * 8 + i;
    const _Float16* mine = a + (blockIdx.y * 16 + line) * kK;
    float sum = 0;
    for (int k = 0; k < kK; k += 2) {
      const Half2 left = *reinterpret_cast<const Half2*>(mine + k);
      const Half2 right = *reinterpret_cast<const Half2*>(column + k);
      sum = __builtin_amdgcn_fdot2(left, right, sum, false);
    }
    out[line * kN] = sum;
  }
#endif
}

__global__ void gemm_vector_f64(const double* a, const double* b, double* c) {
  VectorGemm(a, b, c);
}
__global__ void gemm_vector_f16(const _Float16* a, const _Float16* b, _Float16* c) {
  VectorGemm(a, b, c);
}
__global__ void gemm_vector_bf16(const Bf16* a, const Bf16* b, float* c) { VectorGemm(a, b, c); }
__global__ void gemm_vector_i8(const signed char* a, const signed char* b, int* c) {
  VectorGemm(a, b, c);
}

// With matrix instructions where the target has them for the type, else with vector ones.
__global__ void gemm_matrix_f64(const double* a, const double* b, double* c) {
#if defined(HAS_MFMA)
  const Tile<double> tile(a, b, c);
  Double4 sum = {};
  for (int k = 0; k < kK; k += 4) {
    const int at = k + static_cast<int>(tile.group);
    sum = __builtin_amdgcn_mfma_f64_16x16x4f64(tile.row[at], tile.column[at], sum, 0, 0, 0);
  }
  for (unsigned i = 0; i < 4; ++i) tile.out[(tile.group + 4 * i) * kN] = sum[i];
#else
  VectorGemm(a, b, c);
#endif
}
__global__ void gemm_matrix_f32(const float* a, const float* b, float* c) {
#if defined(HAS_MFMA)
  const Tile<float> tile(a, b, c);
  Float4 sum = {};
  for (int k = 0; k < kK; k += 4) {
    const int at = k + static_cast<int>(tile.group);
    sum = __builtin_amdgcn_mfma_f32_16x16x4f32(tile.row[at], tile.column[at], sum, 0, 0, 0);
  }
  for (unsigned i = 0; i < 4; ++i) tile.out[(tile.group * 4 + i) * kN] = sum[i];
#else
  VectorGemm(a, b, c);
#endif
}
__global__ void gemm_matrix_bf16(const Bf16* a, const Bf16* b, float* c) {
  [[maybe_unused]] const Tile<Bf16> tile(a, b, c);
#if defined(HAS_MFMA)
  Float4 sum = {};
  for (int k = 0; k < kK; k += 16) {
    const int at = k + static_cast<int>(tile.group) * 4;
    sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(tile.Left<Short4>(at), tile.Right<Short4>(at),
                                                    sum, 0, 0, 0);
  }
  for (unsigned i = 0; i < 4; ++i) tile.out[(tile.group * 4 + i) * kN] = sum[i];
#elif defined(__gfx1100__)
  Float8 sum = {};
  for (int k = 0; k < kK; k += 16)
    sum = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(tile.Left<Short16>(k), tile.Right<Short16>(k),
                                                      sum);
  for (unsigned i = 0; i < 8; ++i) tile.out[(2 * i + tile.group) * kN] = sum[i];
#elif defined(__gfx1201__)
  Float8 sum = {};
  for (int k = 0; k < kK; k += 16) {
    const int at = k + static_cast<int>(tile.group) * 8;
    sum = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(tile.Left<Short8>(at),
                                                            tile.Right<Short8>(at), sum);
  }
  for (unsigned i = 0; i < 8; ++i) tile.out[(tile.group * 8 + i) * kN] = sum[i];
#else
  VectorGemm(a, b, c);
#endif
}
__global__ void gemm_matrix_i8(const signed char* a, const signed char* b, int* c) {
  [[maybe_unused]] const Tile<signed char> tile(a, b, c);
#if defined(__gfx90a__)
  Int4 sum = {};
  for (int k = 0; k < kK; k += 16) {
    const int at = k + static_cast<int>(tile.group) * 4;
    sum =
        __builtin_amdgcn_mfma_i32_16x16x16i8(tile.Left<int>(at), tile.Right<int>(at), sum, 0, 0, 0);
  }
  for (unsigned i = 0; i < 4; ++i) tile.out[(tile.group * 4 + i) * kN] = sum[i];
#elif defined(__gfx942__) || defined(__gfx950__)
  Int4 sum = {};
  for (int k = 0; k < kK; k += 32) {
    const int at = k + static_cast<int>(tile.group) * 8;
    sum = __builtin_amdgcn_mfma_i32_16x16x32_i8(tile.Left<long>(at), tile.Right<long>(at), sum, 0,
                                                0, 0);
  }
  for (unsigned i = 0; i < 4; ++i) tile.out[(tile.group * 4 + i) * kN] = sum[i];
#elif defined(__gfx1100__)
  Int8 sum = {};
  for (int k = 0; k < kK; k += 16)
    sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, tile.Left<Int4>(k), true,
                                                     tile.Right<Int4>(k), sum, false);
  for (unsigned i = 0; i < 8; ++i) tile.out[(2 * i + tile.group) * kN] = sum[i];
#elif defined(__gfx1201__)
  Int8 sum = {};
  for (int k = 0; k < kK; k += 16) {
    const int at = k + static_cast<int>(tile.group) * 8;
    sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, tile.Left<Int2>(at), true,
                                                           tile.Right<Int2>(at), sum, false);
  }
  for (unsigned i = 0; i < 8; ++i) tile.out[(tile.group * 8 + i) * kN] = sum[i];
#else
  VectorGemm(a, b, c);
#endif
}

// A sum for each workgroup.
__global__ void reduction(const float* in, float* out) {
  __shared__ float values[256];
  values[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  for (unsigned step = 128; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) values[threadIdx.x] = values[threadIdx.x] + values[threadIdx.x + step];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = values[0];
}

__global__ void transpose(const float* in, float* out) {
  __shared__ float tile[32][33];
  const unsigned x = blockIdx.x * 32 + threadIdx.x;
  const unsigned y = blockIdx.y * 32;
  for (unsigned i = threadIdx.y; i < 32; i += 8) tile[i][threadIdx.x] = in[(y + i) * kSide + x];
  __syncthreads();
  const unsigned column = blockIdx.y * 32 + threadIdx.x;
  const unsigned row = blockIdx.x * 32;
  for (unsigned i = threadIdx.y; i < 32; i += 8)
    out[(row + i) * kSide + column] = tile[threadIdx.x][i];
}

__global__ void stencil(const float* in, float* out) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  if (i > 0 && i + 1 < kItems) out[i] = in[i - 1] + in[i] + in[i + 1];
}

__global__ void gather(const float* in, const int* index, float* out) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  out[i] = in[index[i]];
}

__global__ void powers(const float* in, float* out) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  out[i] = __builtin_amdgcn_exp2f(in[i]);
}

__global__ void convert(const int* in, float* out) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  out[i] = static_cast<float>(in[i]);
}

}  // extern "C"

namespace {

template <typename T>
class Buffer {
 public:
  explicit Buffer(const std::vector<T>& values) : size_(values.size()) {
    CHECK(hipMalloc(reinterpret_cast<void**>(&memory_), size_ * sizeof(T)) == hipSuccess);
    CHECK(hipMemcpy(memory_, values.data(), size_ * sizeof(T), hipMemcpyHostToDevice) ==
          hipSuccess);
  }
  ~Buffer() { (void)hipFree(memory_); }
  operator T*() { return memory_; }
  std::vector<T> Read() {
    std::vector<T> values(size_);
    CHECK(hipMemcpy(values.data(), memory_, size_ * sizeof(T), hipMemcpyDeviceToHost) ==
          hipSuccess);
    return values;
  }

 private:
  T* memory_ = nullptr;
  size_t size_;
};

template <typename T>
std::vector<T> Counted(int count, int modulus) {
  std::vector<T> values(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) values[static_cast<size_t>(i)] = static_cast<T>(i % modulus);
  return values;
}

template <typename T>
void RunAxpy(void (*kernel)(T, const T*, T*)) {
  Buffer<T> x(Counted<T>(kItems, 13));
  Buffer<T> y(Counted<T>(kItems, 7));
  kernel<<<kItems / 256, 256>>>(static_cast<T>(3), x, y);
  const std::vector<T> result = y.Read();
  for (int i = 0; i < kItems; ++i)
    CHECK(static_cast<double>(result[static_cast<size_t>(i)]) == 3 * (i % 13) + i % 7);
}

double Product(int row, int column, bool by_columns) {
  double sum = 0;
  for (int k = 0; k < kK; ++k) {
    const int b = by_columns ? column * kK + k : k * kN + column;
    sum += (row * kK + k) % 5 * (b % 3);
  }
  return sum;
}

template <typename T, typename Sum>
void RunGemm(void (*kernel)(const T*, const T*, Sum*), dim3 grid, dim3 block, bool by_columns) {
  Buffer<T> a(Counted<T>(kM * kK, 5));
  Buffer<T> b(Counted<T>(kK * kN, 3));
  Buffer<Sum> c(Counted<Sum>(kM * kN, 1));
  kernel<<<grid, block>>>(a, b, c);
  const std::vector<Sum> result = c.Read();
  for (int row = 0; row < kM; ++row) {
    for (int column = 0; column < kN; ++column)
      CHECK(static_cast<double>(result[static_cast<size_t>(row * kN + column)]) ==
            Product(row, column, by_columns));
  }
}

}  // namespace

int main() {
  RunAxpy<double>(axpy_f64);
  RunAxpy<float>(axpy_f32);
  RunAxpy<_Float16>(axpy_f16);
  RunGemm(gemm_naive, dim3(kN / 8, kM / 8), dim3(8, 8), false);
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0) == hipSuccess);
  const dim3 tiles(kN / 16, kM / 16), wave(static_cast<unsigned>(properties.warpSize));
  RunGemm(gemm_matrix, tiles, wave, true);
  RunGemm(gemm_vector_f64, tiles, wave, true);
  RunGemm(gemm_vector_f16, tiles, wave, true);
  RunGemm(gemm_vector_bf16, tiles, wave, true);
  RunGemm(gemm_vector_i8, tiles, wave, true);
  RunGemm(gemm_matrix_f64, tiles, wave, true);
  RunGemm(gemm_matrix_f32, tiles, wave, true);
  RunGemm(gemm_matrix_bf16, tiles, wave, true);
  RunGemm(gemm_matrix_i8, tiles, wave, true);

  Buffer<float> in(Counted<float>(kItems * kStride, 101));
  Buffer<float> out(Counted<float>(kItems, 1));
  partial<<<(kPartial + 255) / 256, 256>>>(in, out);
  CHECK(out.Read()[kPartial - 1] == (kPartial - 1) % 101 + 1 && out.Read()[kPartial] == 0);
  transpose<<<dim3(kSide / 32, kSide / 32), dim3(32, 8)>>>(in, out);
  CHECK(out.Read()[3 * kSide + 5] == (5 * kSide + 3) % 101);
  reduction<<<kItems / 256, 256>>>(in, out);
  float sum = 0;
  for (int i = 256; i < 512; ++i) sum += static_cast<float>(i % 101);
  CHECK(out.Read()[1] == sum);
  stencil<<<kItems / 256, 256>>>(in, out);
  CHECK(out.Read()[10] == 30);
  std::vector<int> index(kItems);
  for (int i = 0; i < kItems; ++i) index[static_cast<size_t>(i)] = i * kStride;
  Buffer<int> indices(index);
  gather<<<kItems / 256, 256>>>(in, indices, out);
  CHECK(out.Read()[9] == 9 * kStride % 101);
  powers<<<kItems / 256, 256>>>(in, out);
  CHECK(out.Read()[3] == 8);
  convert<<<kItems / 256, 256>>>(indices, out);
  CHECK(out.Read()[2] == 2 * kStride);
  printf("ok\n");
}
