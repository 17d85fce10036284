// SPDX-License-Identifier: MIT
//
// Copies between two GPUs: hipMemcpyPeer and its asynchronous form in both directions, and, where
// the devices can reach each other, a kernel on one that reads the other's memory.

#include "program.h"

__global__ void Double(const int* in, int* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] * 2;
}

int main() {
  program::Begin("copy_peer");
  int devices = 0;
  HIP_CALL(hipGetDeviceCount(&devices));
  if (devices < 2) program::Skip("needs two GPUs, found %d", devices);
  const int counts[] = {50, 600000};
  for (int count : counts) {
    const size_t bytes = count * sizeof(int);
    std::vector<int> in(count);
    for (int i = 0; i < count; ++i) in[i] = i * 7 - 3;
    HIP_CALL(hipSetDevice(0));
    int* on_first = program::NewDevice(in);
    hipStream_t stream = nullptr;
    HIP_CALL(hipStreamCreate(&stream));
    HIP_CALL(hipSetDevice(1));
    int* on_second = program::NewDevice<int>(count);
    int* also_on_second = program::NewDevice<int>(count);
    HIP_COPY(kP2P, bytes, hipMemcpyPeer(on_second, 1, on_first, 0, bytes));
    CHECK(program::Download(on_second, count) == in, "GPU 1 holds other data (%d words)", count);

    LAUNCH(Double, (count + 255) / 256, 256, 0, nullptr, on_second, also_on_second, count);
    HIP_CALL(hipDeviceSynchronize());
    HIP_CALL(hipSetDevice(0));
    HIP_COPY(kP2P, bytes, hipMemcpyPeerAsync(on_first, 0, also_on_second, 1, bytes, stream));
    HIP_CALL(hipStreamSynchronize(stream));
    const std::vector<int> back = program::Download(on_first, count);
    for (int i = 0; i < count; ++i) {
      CHECK(back[i] == in[i] * 2, "GPU 0 got %d at %d, wanted %d", back[i], i, in[i] * 2);
    }

    int reachable = 0;
    HIP_CALL(hipDeviceCanAccessPeer(&reachable, 1, 0));
    printf("peer access 1 -> 0: %s\n", reachable ? "yes" : "no");
    if (reachable) {
      HIP_CALL(hipSetDevice(1));
      HIP_CALL(hipDeviceEnablePeerAccess(0, 0));
      LAUNCH(Double, (count + 255) / 256, 256, 0, nullptr, on_first, on_second, count);
      HIP_CALL(hipDeviceSynchronize());
      const std::vector<int> twice = program::Download(on_second, count);
      for (int i = 0; i < count; ++i)
        CHECK(twice[i] == in[i] * 4, "peer read of word %d is wrong", i);
      HIP_CALL(hipDeviceDisablePeerAccess(0));
    }
    HIP_CALL(hipSetDevice(0));
    HIP_CALL(hipStreamDestroy(stream));
    program::Free(on_first);
    HIP_CALL(hipSetDevice(1));
    program::Free(on_second);
    program::Free(also_on_second);
  }
  return program::Pass();
}
