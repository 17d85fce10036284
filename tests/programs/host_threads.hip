// SPDX-License-Identifier: MIT
//
// Eight host threads, each with a stream of its own, that allocate, fill, launch, copy and free all
// at the same time.

#include <thread>

#include "program.h"

__global__ void Mix(unsigned* data, int count, unsigned seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = (data[i] + i) * 2654435761u ^ seed;
}

namespace {

void Work(unsigned id) {
  const int count = 1000 + id * 37, rounds = 10;
  const size_t bytes = count * sizeof(unsigned);
  hipStream_t stream = nullptr;
  HIP_CALL(hipSetDevice(0));
  HIP_CALL(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  for (int round = 0; round < rounds; ++round) {
    const unsigned seed = id * 1000 + round;
    unsigned* device = program::NewDevice<unsigned>(count);
    std::vector<unsigned> got(count);
    HIP_MEMSET(bytes, hipMemsetAsync(device, static_cast<int>(id), bytes, stream));
    LAUNCH(Mix, (count + 63) / 64, 64, 0, stream, device, count, seed);
    HIP_COPY(kD2H, bytes, hipMemcpyAsync(got.data(), device, bytes, hipMemcpyDeviceToHost, stream));
    HIP_CALL(hipStreamSynchronize(stream));
    for (int i = 0; i < count; ++i) {
      const unsigned want = (id * 0x01010101u + i) * 2654435761u ^ seed;
      CHECK(got[i] == want, "thread %u, round %d: element %d is %x, wanted %x", id, round, i,
            got[i], want);
    }
    program::Free(device);
  }
  HIP_CALL(hipStreamDestroy(stream));
}

}  // namespace

int main() {
  program::Begin("host_threads");
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < 8; ++id) threads.emplace_back(Work, id);
  for (auto& thread : threads) thread.join();
  return program::Pass();
}
