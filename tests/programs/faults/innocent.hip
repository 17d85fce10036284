// SPDX-License-Identifier: MIT
//
// The bystander of the fault tests: adds vectors, over and over, and checks every result, until its
// standard input is closed; at least one round after that. Must pass whatever other processes do to
// the same GPU.

#include <poll.h>

#include "../program.h"

__global__ void VectorAdd(const float* a, const float* b, float* sum, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = a[i] + b[i];
}

int main() {
  program::Begin("innocent");
  const int count = 10000;
  std::vector<float> a(count), b(count);
  float* device_a = program::NewDevice<float>(count);
  float* device_b = program::NewDevice<float>(count);
  float* device_sum = program::NewDevice<float>(count);
  int rounds = 0;
  for (bool last = false; !last; ++rounds) {
    pollfd input = {0, POLLIN, 0};
    last = poll(&input, 1, 0) != 0;
    for (int i = 0; i < count; ++i) {
      a[i] = static_cast<float>(i % 100 + rounds % 50);
      b[i] = static_cast<float>(i % 77) * 0.5f;
    }
    program::Upload(device_a, a);
    program::Upload(device_b, b);
    LAUNCH(VectorAdd, (count + 255) / 256, 256, 0, nullptr, device_a, device_b, device_sum, count);
    HIP_CALL(hipDeviceSynchronize());
    const std::vector<float> sum = program::Download(device_sum, count);
    for (int i = 0; i < count; ++i)
      CHECK(sum[i] == a[i] + b[i], "round %d: sum[%d] = %g", rounds, i, sum[i]);
    if (rounds == 0) {
      printf("running\n");
      fflush(stdout);
    }
    usleep(2000);  // a bystander, not a competitor
  }
  printf("rounds %d\n", rounds);
  for (float* pointer : {device_a, device_b, device_sum}) program::Free(pointer);
  return program::Pass();
}
