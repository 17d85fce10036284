// SPDX-License-Identifier: MIT
//
// Two GPUs in one process, of the same or of different kinds: each has its own memory, streams and
// copy of a device global, and both work at the same time.

#include "program.h"

__device__ int device_mark;

__global__ void Fill(int* out, int count, int seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = i * seed + device_mark;
}

int main() {
  program::Begin("two_gpus");
  int devices = 0;
  HIP_CALL(hipGetDeviceCount(&devices));
  if (devices < 2) program::Skip("needs two GPUs, found %d", devices);
  const int count = 5000, rounds = 3;
  int* out[2] = {};
  hipStream_t streams[2] = {};
  for (int device = 0; device < 2; ++device) {
    HIP_CALL(hipSetDevice(device));
    hipDeviceProp_t properties;
    HIP_CALL(hipGetDeviceProperties(&properties, device));
    printf("device %d: %s\n", device, properties.gcnArchName);
    out[device] = program::NewDevice<int>(count);
    HIP_CALL(hipStreamCreate(&streams[device]));
    const int mark = device * 1000 + 17;
    HIP_COPY(
        kH2D, sizeof(int),
        hipMemcpyToSymbol(HIP_SYMBOL(device_mark), &mark, sizeof(int), 0, hipMemcpyHostToDevice));
  }
  for (int round = 0; round < rounds; ++round) {
    for (int device = 0; device < 2; ++device) {
      HIP_CALL(hipSetDevice(device));
      LAUNCH(Fill, (count + 255) / 256, 256, 0, streams[device], out[device], count,
             round + 2 + device);
    }
  }
  for (int device = 0; device < 2; ++device) {
    HIP_CALL(hipSetDevice(device));
    int current = -1;
    HIP_CALL(hipGetDevice(&current));
    CHECK(current == device, "the current device is %d, wanted %d", current, device);
    HIP_CALL(hipStreamSynchronize(streams[device]));
    const std::vector<int> got = program::Download(out[device], count);
    for (int i = 0; i < count; ++i) {
      const int want = i * (rounds + 1 + device) + device * 1000 + 17;
      CHECK(got[i] == want, "device %d: element %d is %d, wanted %d", device, i, got[i], want);
    }
    HIP_CALL(hipStreamDestroy(streams[device]));
    program::Free(out[device]);
  }
  return program::Pass();
}
