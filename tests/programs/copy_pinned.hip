// SPDX-License-Identifier: MIT
//
// Pinned host memory: copied from and to, synchronously and asynchronously, and read and written by
// a kernel through its device pointer.

#include "program.h"

__global__ void AddOne(unsigned* words, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) words[i] += 1;
}

namespace {

void RoundTrip(int count, hipStream_t stream) {
  const size_t bytes = count * sizeof(unsigned);
  unsigned *in = nullptr, *out = nullptr;
  HIP_CALL(hipHostMalloc(&in, bytes, hipHostMallocDefault));
  HIP_CALL(hipHostMalloc(&out, bytes, hipHostMallocDefault));
  unsigned* device = program::NewDevice<unsigned>(count);
  for (int i = 0; i < count; ++i) in[i] = i * 2654435761u;
  HIP_COPY(kH2D, bytes, hipMemcpy(device, in, bytes, hipMemcpyHostToDevice));
  HIP_COPY(kD2H, bytes, hipMemcpy(out, device, bytes, hipMemcpyDeviceToHost));
  CHECK(memcmp(in, out, bytes) == 0, "%zu bytes differ after hipMemcpy", bytes);
  for (int i = 0; i < count; ++i) in[i] ^= 0x5A5A5A5A;
  HIP_COPY(kH2D, bytes, hipMemcpyAsync(device, in, bytes, hipMemcpyHostToDevice, stream));
  HIP_COPY(kD2H, bytes, hipMemcpyAsync(out, device, bytes, hipMemcpyDeviceToHost, stream));
  HIP_CALL(hipStreamSynchronize(stream));
  CHECK(memcmp(in, out, bytes) == 0, "%zu bytes differ after hipMemcpyAsync", bytes);

  unsigned* mapped = nullptr;
  HIP_CALL(hipHostGetDevicePointer(reinterpret_cast<void**>(&mapped), out, 0));
  const int touched = count < 4096 ? count : 4096;
  LAUNCH(AddOne, (touched + 63) / 64, 64, 0, stream, mapped, touched);
  HIP_CALL(hipStreamSynchronize(stream));
  for (int i = 0; i < count; ++i) {
    CHECK(out[i] == in[i] + (i < touched ? 1 : 0), "word %d of %d not as the kernel left it", i,
          count);
  }
  program::Free(device);
  HIP_CALL(hipHostFree(in));
  HIP_CALL(hipHostFree(out));
}

}  // namespace

int main() {
  program::Begin("copy_pinned");
  hipStream_t stream = nullptr;
  HIP_CALL(hipStreamCreate(&stream));
  RoundTrip(16, stream);
  RoundTrip(5000, stream);
  RoundTrip(2 * 1024 * 1024, stream);
  HIP_CALL(hipStreamDestroy(stream));
  return program::Pass();
}
