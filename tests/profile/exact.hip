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

template <typename T>
void RunGemm(void (*kernel)(const T*, const T*, float*), dim3 grid, dim3 block, bool by_columns) {
  Buffer<T> a(Counted<T>(kM * kK, 5));
  Buffer<T> b(Counted<T>(kK * kN, 3));
  Buffer<float> c(Counted<float>(kM * kN, 1));
  kernel<<<grid, block>>>(a, b, c);
  const std::vector<float> result = c.Read();
  for (int row = 0; row < kM; ++row) {
    for (int column = 0; column < kN; ++column)
      CHECK(result[static_cast<size_t>(row * kN + column)] == Product(row, column, by_columns));
  }
}

}  // namespace

int main() {
  RunAxpy<double>(axpy_f64);
  RunAxpy<float>(axpy_f32);
  RunAxpy<_Float16>(axpy_f16);
  RunGemm<float>(gemm_naive, dim3(kN / 8, kM / 8), dim3(8, 8), false);
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0) == hipSuccess);
  RunGemm<_Float16>(gemm_matrix, dim3(kN / 16, kM / 16),
                    dim3(static_cast<unsigned>(properties.warpSize)), true);

  Buffer<float> in(Counted<float>(kItems * kStride, 101));
  Buffer<float> out(Counted<float>(kItems, 1));
  partial<<<(kPartial + 255) / 256, 256>>>(in, out);
  CHECK(out.Read()[kPartial - 1] == (kPartial - 1) % 101 + 1 && out.Read()[kPartial] == 0);
  transpose<<<dim3(kSide / 32, kSide / 32), dim3(32, 8)>>>(in, out);
  CHECK(out.Read()[3 * kSide + 5] == (5 * kSide + 3) % 101);
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
