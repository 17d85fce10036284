// SPDX-License-Identifier: MIT
//
// Two million elements, added one per thread: the plainest program there is, large enough for the
// copies to go through SDMA.

#include "program.h"

__global__ void VectorAdd(const float* a, const float* b, float* sum, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = a[i] + b[i];
}

int main() {
  program::Begin("vector_add");
  const int count = 2 * 1024 * 1024 - 37;  // the last workgroup is partly idle
  std::vector<float> a(count), b(count);
  for (int i = 0; i < count; ++i) {
    a[i] = static_cast<float>(i % 4099);
    b[i] = static_cast<float>(i % 257) * 0.5f;
  }
  float* device_a = program::NewDevice(a);
  float* device_b = program::NewDevice(b);
  float* device_sum = program::NewDevice<float>(count);
  LAUNCH(VectorAdd, (count + 255) / 256, 256, 0, nullptr, device_a, device_b, device_sum, count);
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<float> sum = program::Download(device_sum, count);
  for (int i = 0; i < count; ++i) {
    CHECK(sum[i] == a[i] + b[i], "sum[%d] = %g, wanted %g", i, sum[i], a[i] + b[i]);
  }
  program::Free(device_a);
  program::Free(device_b);
  program::Free(device_sum);
  return program::Pass();
}
