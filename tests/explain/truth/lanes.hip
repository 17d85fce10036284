// SPDX-License-Identifier: MIT
//
// Streams, a named thread, and functions that call each other: what lanes, stacks and flat tables
// have to show.
#include <pthread.h>

#include "truth.h"

using namespace truth;

constexpr int kStreams = 6;  // more than HIP has queues, so that some share one
constexpr int kLaunches = 5;

int* memory;
int line_of_launch = 0;

__attribute__((noinline)) void Forward(hipStream_t stream) {
  line_of_launch = __LINE__ + 1;
  Spin<1><<<1, 64, 0, stream>>>(memory, 300);
  asm volatile("");  // so that the launch is no jump
}

__attribute__((noinline)) void Train(const std::vector<hipStream_t>& streams) {
  for (int i = 0; i < kLaunches; ++i)
    for (size_t s = 0; s < streams.size(); ++s) Forward(streams[s]);
  asm volatile("");
}

void Load(hipStream_t stream) {
  pthread_setname_np(pthread_self(), "loader");
  for (int i = 0; i < kLaunches; ++i) {
    Spin<2><<<1, 64, 0, stream>>>(memory, 300);
    CHECK(hipStreamSynchronize(stream));
  }
}

int main() {
  memory = Allocate(64);
  std::vector<hipStream_t> streams(kStreams);
  for (hipStream_t& stream : streams) CHECK(hipStreamCreate(&stream));
  hipStream_t loading;
  CHECK(hipStreamCreate(&loading));
  Spin<0><<<1, 64>>>(memory, 300);
  CHECK(hipMemsetAsync(memory, 0, 64 * sizeof(int), streams[0]));
  CHECK(hipDeviceSynchronize());
  Train(streams);
  CHECK(hipDeviceSynchronize());
  std::thread loader(Load, loading);
  loader.join();
  const double from = NowMs();
  {
    const Range range("host sleep");
    SleepMs(50);
  }
  const double slept = NowMs() - from;
  Truth()
      .Add("streams", kStreams)
      .Add("launches", kLaunches)
      .Add("line", line_of_launch)
      .Add("sleep_ms", slept)
      .Print();
}
