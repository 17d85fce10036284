// SPDX-License-Identifier: MIT
//
// A kernel that spins until the host releases it. While it spins its stream is not ready, and a
// kernel on another stream runs to its end: queues really run side by side.

#include <chrono>
#include <thread>

#include "program.h"

struct Flags {
  int started;
  int release;
  int seen;
};

__global__ void Spin(Flags* flags) {
  __hip_atomic_store(&flags->started, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  while (__hip_atomic_load(&flags->release, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0) {
  }
  flags->seen = flags->release;
}

__global__ void Other(int* out) { out[threadIdx.x] = threadIdx.x * 9; }

int main() {
  program::Begin("spin_until_released");
  Flags* flags = nullptr;
  HIP_CALL(hipHostMalloc(&flags, sizeof(Flags), hipHostMallocCoherent | hipHostMallocMapped));
  memset(flags, 0, sizeof(Flags));
  int* out = program::NewDevice<int>(64);
  hipStream_t spinning = nullptr, other = nullptr;
  HIP_CALL(hipStreamCreateWithFlags(&spinning, hipStreamNonBlocking));
  HIP_CALL(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
  LAUNCH(Other, 1, 64, 0, other, out);  // so that the stream exists in hardware before the spin
  HIP_CALL(hipStreamSynchronize(other));
  LAUNCH(Spin, 1, 1, 0, spinning, flags);
  for (int waited = 0; __atomic_load_n(&flags->started, __ATOMIC_ACQUIRE) == 0; ++waited) {
    CHECK(waited < 20000, "the kernel did not start within 20 s");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  HIP_CALL_GIVES(hipErrorNotReady, hipStreamQuery(spinning));
  LAUNCH(Other, 1, 64, 0, other, out);
  HIP_CALL(hipStreamSynchronize(other));
  HIP_CALL_GIVES(hipErrorNotReady, hipStreamQuery(spinning));
  CHECK(flags->seen == 0, "the kernel went on without being released");
  __atomic_store_n(&flags->release, 42, __ATOMIC_RELEASE);
  HIP_CALL(hipStreamSynchronize(spinning));
  CHECK(flags->seen == 42, "the kernel saw %d, wanted 42", flags->seen);
  HIP_CALL(hipStreamQuery(spinning));
  const std::vector<int> result = program::Download(out, 64);
  for (int i = 0; i < 64; ++i) CHECK(result[i] == i * 9, "element %d is %d", i, result[i]);
  HIP_CALL(hipStreamDestroy(spinning));
  HIP_CALL(hipStreamDestroy(other));
  program::Free(out);
  HIP_CALL(hipHostFree(flags));
  return program::Pass();
}
