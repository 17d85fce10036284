// SPDX-License-Identifier: MIT
//
// Slow: the host loads a batch while the GPU has nothing to do, and then waits for the GPU.
// Fixed: it loads the next batch while the GPU computes this one.
#include <rochound/rochound.h>

#include <chrono>
#include <thread>

#include "check.h"

__global__ void Train(float* weights, int rounds) {
  float value = weights[blockIdx.x * blockDim.x + threadIdx.x];
  for (int i = 0; i < rounds; ++i) value = value * 0.999f + 0.001f;
  weights[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

static void LoadBatch() {
  rochound_range_push("load batch");
  std::this_thread::sleep_for(std::chrono::milliseconds(60));  // a disk, or another machine
  rochound_range_pop();
}

int main(int count, char** arguments) {
  const bool fixed = IsFixed(count, arguments);
  float* weights = nullptr;
  CHECK(hipMalloc(&weights, 144 * 64 * sizeof(float)));
  CHECK(hipMemset(weights, 0, 144 * 64 * sizeof(float)));
  LoadBatch();
  for (int batch = 0; batch < 10; ++batch) {
    // Fixed, a step is longer than a load, so that one hides the other.
    Train<<<144, 64>>>(weights, fixed ? 30000 : 500);
    if (!fixed) CHECK(hipDeviceSynchronize());
    LoadBatch();
    if (fixed) CHECK(hipDeviceSynchronize());
  }
}
