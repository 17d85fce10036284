// SPDX-License-Identifier: MIT
//
// OpenMP offload, compiled by GCC for AMD GPUs (Debian's clang has no offload runtime): loops with
// reductions, teams, collapsed indices and atomics in `target` regions, against the same loops
// here.
#include <omp.h>

#include <cmath>

#include "library_test.h"

using library_test::Compare;
using library_test::Fail;

namespace {
constexpr int kCount = 1000;
}

int main() {
  if (omp_get_num_devices() == 0) Fail("OpenMP found no device");
  int on_host = 1;
#pragma omp target map(from : on_host)
  on_host = omp_is_initial_device();
  if (on_host != 0) Fail("the target region ran on the host");

  static double a[kCount], b[kCount], c[kCount];
  library_test::Numbers numbers(1);
  for (int i = 0; i < kCount; ++i) {
    a[i] = numbers.Small(100);
    b[i] = numbers.Small(100);
  }
#pragma omp target teams distribute parallel for map(to : a, b) map(from : c)
  for (int i = 0; i < kCount; ++i) c[i] = 3 * a[i] + b[i];
  std::vector<double> want(kCount);
  for (int i = 0; i < kCount; ++i) want[i] = 3 * a[i] + b[i];
  Compare("axpy", std::vector<double>(c, c + kCount), want);

  double sum = 0, largest = -1e9;
#pragma omp target teams distribute parallel for map(to : c) map(tofrom : sum, largest) \
    reduction(+ : sum) reduction(max : largest)
  for (int i = 0; i < kCount; ++i) {
    sum += c[i];
    largest = c[i] > largest ? c[i] : largest;
  }
  double want_sum = 0, want_largest = -1e9;
  for (double value : want) {
    want_sum += value;
    want_largest = std::fmax(want_largest, value);
  }
  Compare("reduction", {sum, largest}, {want_sum, want_largest});

  constexpr int kRows = 12, kColumns = 9, kInner = 15;
  static int x[kRows][kInner], y[kInner][kColumns], z[kRows][kColumns];
  for (auto& row : x)
    for (int& value : row) value = numbers.Small(20);
  for (auto& row : y)
    for (int& value : row) value = numbers.Small(20);
#pragma omp target teams distribute parallel for collapse(2) map(to : x, y) map(from : z)
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      int total = 0;
      for (int k = 0; k < kInner; ++k) total += x[i][k] * y[k][j];
      z[i][j] = total;
    }
  }
  std::vector<double> got, product;
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      int total = 0;
      for (int k = 0; k < kInner; ++k) total += x[i][k] * y[k][j];
      product.push_back(total);
      got.push_back(z[i][j]);
    }
  }
  Compare("matrix product", got, product);

  int bins[16] = {};
#pragma omp target teams distribute parallel for map(tofrom : bins)
  for (int i = 0; i < kCount; ++i) {
#pragma omp atomic
    bins[(i * 7) % 16] += i;
  }
  std::vector<double> want_bins(16);
  for (int i = 0; i < kCount; ++i) want_bins[(i * 7) % 16] += i;
  Compare("atomics", std::vector<double>(bins, bins + 16), want_bins);

  float roots[kCount];
#pragma omp target parallel for map(from : roots)
  for (int i = 0; i < kCount; ++i) roots[i] = __builtin_sqrtf(static_cast<float>(i));
  std::vector<double> want_roots(kCount);
  for (int i = 0; i < kCount; ++i) want_roots[i] = std::sqrt(static_cast<float>(i));
  Compare("square roots", std::vector<double>(roots, roots + kCount), want_roots, 4e-6);
  return library_test::Finish("openmp_offload");
}
