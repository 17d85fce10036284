// SPDX-License-Identifier: MIT
//
// A chain of kernels that hops over four streams by hipStreamWaitEvent, and event timing: the time
// between two events is above zero, adds up, and is no longer than the host saw it take.

#include <chrono>

#include "program.h"

__global__ void Step(unsigned* value, unsigned step) {
  if (threadIdx.x == 0) *value = *value * 31 + step;
}

__global__ void Work(unsigned* out, int rounds) {
  unsigned x = threadIdx.x + blockIdx.x * blockDim.x;
  for (int i = 0; i < rounds; ++i) x = x * 1664525 + 1013904223;
  out[threadIdx.x + blockIdx.x * blockDim.x] = x;
}

int main() {
  program::Begin("stream_waits");
  const int hops = 40, lanes = 4;
  hipStream_t streams[lanes];
  for (auto& stream : streams) HIP_CALL(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  std::vector<hipEvent_t> events(hops);
  for (auto& event : events) HIP_CALL(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  unsigned* value = program::NewDevice(std::vector<unsigned>(1, 1));
  unsigned want = 1;
  for (int hop = 0; hop < hops; ++hop) {
    const hipStream_t stream = streams[hop % lanes];
    if (hop > 0) HIP_CALL(hipStreamWaitEvent(stream, events[hop - 1], 0));
    LAUNCH(Step, 1, 64, 0, stream, value, static_cast<unsigned>(hop));
    HIP_CALL(hipEventRecord(events[hop], stream));
    want = want * 31 + hop;
  }
  HIP_CALL(hipEventSynchronize(events[hops - 1]));
  CHECK(program::Download(value, 1)[0] == want, "the chain was run out of order");

  hipEvent_t start = nullptr, middle = nullptr, stop = nullptr;
  for (hipEvent_t* event : {&start, &middle, &stop}) HIP_CALL(hipEventCreate(event));
  unsigned* out = program::NewDevice<unsigned>(16 * 64);
  const auto host_start = std::chrono::steady_clock::now();
  HIP_CALL(hipEventRecord(start, streams[0]));
  LAUNCH(Work, 16, 64, 0, streams[0], out, 1000);
  HIP_CALL(hipEventRecord(middle, streams[0]));
  LAUNCH(Work, 16, 64, 0, streams[0], out, 1000);
  HIP_CALL(hipEventRecord(stop, streams[0]));
  HIP_CALL(hipEventSynchronize(stop));
  const std::chrono::duration<double, std::milli> host =
      std::chrono::steady_clock::now() - host_start;
  float first = 0, second = 0, both = 0;
  HIP_CALL(hipEventElapsedTime(&first, start, middle));
  HIP_CALL(hipEventElapsedTime(&second, middle, stop));
  HIP_CALL(hipEventElapsedTime(&both, start, stop));
  printf("elapsed: %.4f + %.4f = %.4f ms, host %.4f ms\n", first, second, both, host.count());
  CHECK(first > 0 && second > 0, "elapsed times %g and %g ms, wanted above 0", first, second);
  CHECK(program::Near(both, first + second, 1e-3, 1e-2), "%g + %g ms is not %g ms", first, second,
        both);
  CHECK(both <= host.count() * 1.05 + 0.1, "the GPU took %g ms, the host saw %g", both,
        host.count());

  for (hipEvent_t event : {start, middle, stop}) HIP_CALL(hipEventDestroy(event));
  for (auto& event : events) HIP_CALL(hipEventDestroy(event));
  for (auto& stream : streams) HIP_CALL(hipStreamDestroy(stream));
  program::Free(value);
  program::Free(out);
  return program::Pass();
}
