// SPDX-License-Identifier: MIT
//
// Matrix product with 16x16 tiles in LDS, for sizes that are and that are not a multiple of the
// tile. Small whole numbers keep the result exact in any order of summation.

#include "program.h"

constexpr int kTile = 16;

__global__ void MatMul(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile + 1];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int base = 0; base < k; base += kTile) {
    const int a_column = base + threadIdx.x;
    const int b_row = base + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < m && a_column < k ? a[row * k + a_column] : 0.0f;
    tile_b[threadIdx.y][threadIdx.x] = b_row < k && column < n ? b[b_row * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

namespace {

void Run(int m, int n, int k) {
  program::Random random(m * 10000 + n * 100 + k);
  std::vector<float> a(m * k), b(k * n);
  for (auto& value : a) value = static_cast<float>(random.Below(17)) - 8;
  for (auto& value : b) value = static_cast<float>(random.Below(17)) - 8;
  float* device_a = program::NewDevice(a);
  float* device_b = program::NewDevice(b);
  float* device_c = program::NewDevice<float>(m * n);
  LAUNCH(MatMul, dim3((n + kTile - 1) / kTile, (m + kTile - 1) / kTile), dim3(kTile, kTile), 0,
         nullptr, device_a, device_b, device_c, m, n, k);
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<float> c = program::Download(device_c, m * n);
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      float want = 0;
      for (int i = 0; i < k; ++i) want += a[row * k + i] * b[i * n + column];
      CHECK(c[row * n + column] == want, "%dx%dx%d: c[%d][%d] = %g, wanted %g", m, n, k, row,
            column, c[row * n + column], want);
    }
  }
  program::Free(device_a);
  program::Free(device_b);
  program::Free(device_c);
}

}  // namespace

int main() {
  program::Begin("tiled_matmul");
  Run(64, 64, 64);
  Run(50, 37, 41);
  Run(1, 100, 3);
  return program::Pass();
}
