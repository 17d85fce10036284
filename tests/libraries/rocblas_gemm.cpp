// SPDX-License-Identifier: MIT
//
// rocBLAS as Debian packages it: matrix products in four number formats, of several shapes and all
// transpositions, single and batched, and a few vector operations, against sums made on the CPU.
// The numbers are small and whole, so that every order of summation gives the same bits.
#include <hip/hip_runtime.h>
#include <rocblas/rocblas.h>

#include <cmath>
#include <cstring>

#include "library_test.h"

using library_test::Compare;
using library_test::Numbers;

namespace {

rocblas_half ToHalf(double value) {
  // Whole numbers up to 2048 and nothing else.
  auto magnitude = static_cast<uint32_t>(std::fabs(value));
  uint16_t bits = 0;
  if (magnitude != 0) {
    int exponent = 31 - __builtin_clz(magnitude);
    bits = static_cast<uint16_t>((exponent + 15) << 10 | ((magnitude << 10 >> exponent) & 0x3FF));
  }
  if (value < 0) bits |= 0x8000;
  rocblas_half half;
  std::memcpy(&half, &bits, 2);
  return half;
}

double FromHalf(rocblas_half half) {
  uint16_t bits;
  std::memcpy(&bits, &half, 2);
  int exponent = bits >> 10 & 31;
  double mantissa = bits & 0x3FF;
  if (exponent == 31) return NAN;
  double value =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

template <typename T>
T To(double value) {
  if constexpr (std::is_same_v<T, rocblas_half>)
    return ToHalf(value);
  else
    return static_cast<T>(value);
}
template <typename T>
double From(T value) {
  if constexpr (std::is_same_v<T, rocblas_half>)
    return FromHalf(value);
  else
    return value;
}

// Memory of the GPU, filled from doubles in the format T.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<double>& values) : count_(values.size()) {
    std::vector<T> host(count_);
    for (size_t i = 0; i < count_; ++i) host[i] = To<T>(values[i]);
    EXPECT_OK(hipMalloc(reinterpret_cast<void**>(&data_), count_ * sizeof(T)), hipSuccess);
    EXPECT_OK(hipMemcpy(data_, host.data(), count_ * sizeof(T), hipMemcpyHostToDevice), hipSuccess);
  }
  ~DeviceArray() { (void)hipFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return data_; }
  std::vector<double> Read() const {
    std::vector<T> host(count_);
    EXPECT_OK(hipMemcpy(host.data(), data_, count_ * sizeof(T), hipMemcpyDeviceToHost), hipSuccess);
    std::vector<double> values(count_);
    for (size_t i = 0; i < count_; ++i) values[i] = From(host[i]);
    return values;
  }

 private:
  size_t count_;
  T* data_ = nullptr;
};

struct Shape {
  int m, n, k;
};
struct Product {
  Shape shape;
  bool transpose_a, transpose_b;
  int alpha, beta;
  int batch = 1;
};

std::string Describe(const char* name, const Product& p) {
  char text[128];
  std::snprintf(text, sizeof(text), "%s %c%c %dx%dx%d alpha %d beta %d batch %d", name,
                p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.shape.m, p.shape.n,
                p.shape.k, p.alpha, p.beta, p.batch);
  return text;
}

std::vector<double> Random(size_t count, int largest, uint64_t seed) {
  Numbers numbers(seed);
  std::vector<double> values(count);
  for (double& value : values) value = numbers.Small(largest);
  return values;
}

template <typename T, typename Call>
void Run(const char* name, const Product& p, Call call) {
  auto [m, n, k] = p.shape;
  // Leading dimensions with a gap, which must stay as it is.
  int lda = (p.transpose_a ? k : m) + 3, ldb = (p.transpose_b ? n : k) + 1, ldc = m + 2;
  size_t size_a = static_cast<size_t>(lda) * (p.transpose_a ? m : k);
  size_t size_b = static_cast<size_t>(ldb) * (p.transpose_b ? k : n);
  size_t size_c = static_cast<size_t>(ldc) * n;
  std::vector<double> a = Random(size_a * p.batch, 3, m * 7 + n);
  std::vector<double> b = Random(size_b * p.batch, 2, k * 5 + m);
  std::vector<double> c = Random(size_c * p.batch, 9, n * 3 + k);
  std::vector<double> want = c;
  for (int batch = 0; batch < p.batch; ++batch) {
    const double* pa = a.data() + batch * size_a;
    const double* pb = b.data() + batch * size_b;
    double* pc = want.data() + batch * size_c;
    for (int column = 0; column < n; ++column) {
      for (int row = 0; row < m; ++row) {
        double sum = 0;
        for (int i = 0; i < k; ++i)
          sum += pa[p.transpose_a ? i + row * lda : row + i * lda] *
                 pb[p.transpose_b ? column + i * ldb : i + column * ldb];
        double& element = pc[row + column * ldc];
        element = p.alpha * sum + p.beta * element;
      }
    }
  }
  DeviceArray<T> da(a), db(b), dc(c);
  auto op_a = p.transpose_a ? rocblas_operation_transpose : rocblas_operation_none;
  auto op_b = p.transpose_b ? rocblas_operation_transpose : rocblas_operation_none;
  EXPECT_OK(
      call(op_a, op_b, da.data(), lda, size_a, db.data(), ldb, size_b, dc.data(), ldc, size_c),
      rocblas_status_success);
  EXPECT_OK(hipDeviceSynchronize(), hipSuccess);
  Compare(Describe(name, p), dc.Read(), want);
}

void Gemm(rocblas_handle handle, const Product& p, const std::string& only) {
  auto [m, n, k] = p.shape;
  auto wanted = [&](const char* name) { return only.empty() || only == name; };
  if (wanted("sgemm")) {
    Run<float>("sgemm", p,
               [&](auto ta, auto tb, auto a, int lda, size_t sa, auto b, int ldb, size_t sb, auto c,
                   int ldc, size_t sc) {
                 auto alpha = static_cast<float>(p.alpha), beta = static_cast<float>(p.beta);
                 if (p.batch == 1)
                   return rocblas_sgemm(handle, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c,
                                        ldc);
                 return rocblas_sgemm_strided_batched(handle, ta, tb, m, n, k, &alpha, a, lda, sa,
                                                      b, ldb, sb, &beta, c, ldc, sc, p.batch);
               });
  }
  if (wanted("dgemm")) {
    Run<double>("dgemm", p,
                [&](auto ta, auto tb, auto a, int lda, size_t sa, auto b, int ldb, size_t sb,
                    auto c, int ldc, size_t sc) {
                  double alpha = p.alpha, beta = p.beta;
                  if (p.batch == 1)
                    return rocblas_dgemm(handle, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c,
                                         ldc);
                  return rocblas_dgemm_strided_batched(handle, ta, tb, m, n, k, &alpha, a, lda, sa,
                                                       b, ldb, sb, &beta, c, ldc, sc, p.batch);
                });
  }
  if (wanted("hgemm")) {
    Run<rocblas_half>(
        "hgemm", p,
        [&](auto ta, auto tb, auto a, int lda, size_t sa, auto b, int ldb, size_t sb, auto c,
            int ldc, size_t sc) {
          rocblas_half alpha = ToHalf(p.alpha), beta = ToHalf(p.beta);
          if (p.batch == 1)
            return rocblas_hgemm(handle, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
          return rocblas_hgemm_strided_batched(handle, ta, tb, m, n, k, &alpha, a, lda, sa, b, ldb,
                                               sb, &beta, c, ldc, sc, p.batch);
        });
  }
  if (wanted("hgemm32") && p.batch == 1) {  // halves in and out, sums in single precision
    Run<rocblas_half>("hgemm32", p,
                      [&](auto ta, auto tb, auto a, int lda, size_t, auto b, int ldb, size_t,
                          auto c, int ldc, size_t) {
                        auto alpha = static_cast<float>(p.alpha), beta = static_cast<float>(p.beta);
                        return rocblas_gemm_ex(
                            handle, ta, tb, m, n, k, &alpha, a, rocblas_datatype_f16_r, lda, b,
                            rocblas_datatype_f16_r, ldb, &beta, c, rocblas_datatype_f16_r, ldc, c,
                            rocblas_datatype_f16_r, ldc, rocblas_datatype_f32_r,
                            rocblas_gemm_algo_standard, 0, 0);
                      });
  }
}

void Vectors(rocblas_handle handle) {
  constexpr int kCount = 1000;
  std::vector<double> x = Random(kCount, 5, 1), y = Random(kCount, 5, 2);
  DeviceArray<float> dx(x), dy(y);
  float alpha = 3;
  EXPECT_OK(rocblas_saxpy(handle, kCount, &alpha, dx.data(), 1, dy.data(), 1),
            rocblas_status_success);
  for (int i = 0; i < kCount; ++i) y[i] += 3 * x[i];
  Compare("saxpy", dy.Read(), y);
  float dot = 0;
  EXPECT_OK(rocblas_sdot(handle, kCount, dx.data(), 1, dy.data(), 1, &dot), rocblas_status_success);
  double sum = 0;
  for (int i = 0; i < kCount; ++i) sum += x[i] * y[i];
  Compare("sdot", {dot}, {sum});
  rocblas_int largest = 0;
  EXPECT_OK(rocblas_isamax(handle, kCount, dy.data(), 1, &largest), rocblas_status_success);
  int want = 0;
  for (int i = 0; i < kCount; ++i)
    if (std::fabs(y[i]) > std::fabs(y[want])) want = i;
  Compare("isamax", {static_cast<double>(largest)}, {want + 1.0});
  std::vector<double> matrix = Random(50 * 20, 4, 3), v(x.begin(), x.begin() + 20), r(50, 1.0);
  DeviceArray<double> dm(matrix), dv(v), dr(r);
  double one = 1, two = 2;
  EXPECT_OK(rocblas_dgemv(handle, rocblas_operation_none, 50, 20, &two, dm.data(), 50, dv.data(), 1,
                          &one, dr.data(), 1),
            rocblas_status_success);
  for (int row = 0; row < 50; ++row)
    for (int i = 0; i < 20; ++i) r[row] += 2 * matrix[row + 50 * i] * v[i];
  Compare("dgemv", dr.Read(), r);
}

// The product goes to memory that is not there.
void Nowhere(rocblas_handle handle) {
  constexpr int kSide = 32;
  const std::vector<double> numbers = Random(kSide * kSide, 3, 1);
  DeviceArray<float> a(numbers), b(numbers), c(numbers);
  float one = 1, zero = 0;
  float* const unmapped = c.data() + (1ll << 32);
  EXPECT_OK(rocblas_sgemm(handle, rocblas_operation_none, rocblas_operation_none, kSide, kSide,
                          kSide, &one, a.data(), kSide, b.data(), kSide, &zero, unmapped, kSide),
            rocblas_status_success);
  EXPECT_OK(hipDeviceSynchronize(), hipSuccess);
}

}  // namespace

// rocblas_gemm [sgemm|dgemm|hgemm|hgemm32|vectors|nowhere]: one part, or all but the last.
int main(int argc, char** argv) {
  std::string only = argc > 1 ? argv[1] : "";
  rocblas_handle handle;
  EXPECT_OK(rocblas_create_handle(&handle), rocblas_status_success);
  if (only.empty() || only == "vectors") Vectors(handle);
  if (only == "nowhere") Nowhere(handle);
  if (only != "vectors" && only != "nowhere") {
    for (const Shape& shape : {Shape{16, 16, 16}, Shape{64, 64, 32}, Shape{33, 17, 65}}) {
      for (bool ta : {false, true})
        for (bool tb : {false, true}) Gemm(handle, {shape, ta, tb, 1, 0}, only);
    }
    Gemm(handle, {{128, 96, 40}, false, false, 2, -1}, only);
    Gemm(handle, {{1, 7, 5}, false, true, 1, 1}, only);
    Gemm(handle, {{5, 1, 9}, true, false, -1, 2}, only);
    Gemm(handle, {{20, 12, 8}, false, false, 1, 1, 3}, only);
  }
  EXPECT_OK(rocblas_destroy_handle(handle), rocblas_status_success);
  return library_test::Finish("rocblas_gemm");
}
