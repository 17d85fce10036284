// SPDX-License-Identifier: MIT
//
// Streams of every priority that the device offers, and a stream that may use only some compute
// units: each is created, says what it is, and computes.

#include <hip/hip_ext.h>

#include "program.h"

__global__ void Fill(int* out, int count, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = value + i;
}

namespace {

void Use(hipStream_t stream, int* out, int value) {
  const int count = 1000;
  LAUNCH(Fill, (count + 127) / 128, 128, 0, stream, out, count, value);
  HIP_CALL(hipStreamSynchronize(stream));
  const std::vector<int> got = program::Download(out, count);
  for (int i = 0; i < count; ++i)
    CHECK(got[i] == value + i, "element %d is %d, wanted %d", i, got[i], value + i);
}

}  // namespace

int main() {
  program::Begin("stream_priority");
  int* out = program::NewDevice<int>(1000);
  int least = 0, greatest = 0;
  HIP_CALL(hipDeviceGetStreamPriorityRange(&least, &greatest));
  printf("priorities from %d to %d\n", least, greatest);
  CHECK(least >= greatest, "least %d, greatest %d: a lower number is the higher priority", least,
        greatest);
  for (int priority = greatest; priority <= least; ++priority) {
    hipStream_t stream = nullptr;
    HIP_CALL(hipStreamCreateWithPriority(&stream, hipStreamDefault, priority));
    int got = 99;
    HIP_CALL(hipStreamGetPriority(stream, &got));
    CHECK(got == priority, "the stream's priority is %d, wanted %d", got, priority);
    Use(stream, out, priority * 1000);
    HIP_CALL(hipStreamDestroy(stream));
  }

  hipDeviceProp_t properties;
  HIP_CALL(hipGetDeviceProperties(&properties, 0));
  const uint32_t second_word = properties.multiProcessorCount > 32 ? 1 : 0;
  const uint32_t masks[][2] = {{0x0000000F, 0}, {0x00FF00FF, second_word}};
  for (const auto& mask : masks) {
    hipStream_t stream = nullptr;
    HIP_CALL(hipExtStreamCreateWithCUMask(&stream, 2, mask));
    uint32_t got[16] = {};  // room for every compute unit there may be
    HIP_CALL(hipExtStreamGetCUMask(stream, 16, got));
    CHECK(got[0] == mask[0] && got[1] == mask[1], "the mask is %08x%08x, wanted %08x%08x", got[1],
          got[0], mask[1], mask[0]);
    Use(stream, out, static_cast<int>(mask[0] % 1000));
    HIP_CALL(hipStreamDestroy(stream));
  }
  program::Free(out);
  return program::Pass();
}
