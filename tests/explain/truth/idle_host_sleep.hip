// SPDX-License-Identifier: MIT
//
// Five steps with a few kernels each. Between them the GPU waits for the host, which makes a very
// short call after each wait. idle_host_sleep MODE
//   range    sleeps inside a range
//   plain    sleeps, and no range says so
//   clean    does not sleep
#include "truth.h"

using namespace truth;

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "range";
  Calls calls;
  int* memory = nullptr;
  hipStream_t stream;
  calls([&] { memory = Allocate(256); });
  calls([&] { CHECK(hipStreamCreate(&stream)); });
  double slept = 0, synchronized = 0;
  const auto sleep = [&] {
    const double begin = NowMs();
    SleepMs(50);
    slept += NowMs() - begin;
  };
  for (int step = 0; step < 5; ++step) {
    hipEvent_t event;
    calls([&] { CHECK(hipEventCreate(&event)); });
    for (int i = 0; i < 10; ++i) calls([&] { Spin<0><<<1, 64, 0, stream>>>(memory, 20000); });
    synchronized += calls([&] { CHECK(hipStreamSynchronize(stream)); });
    if (mode == "range") {
      const Range range("host sleep");
      sleep();
    } else if (mode == "plain") {
      sleep();
    }
    calls([&] { CHECK(hipEventDestroy(event)); });
  }
  Truth()
      .Add("slept_ms", slept)
      .Add("outside_ms", calls.OutsideMs())
      .Add("synchronized_ms", synchronized)
      .Print();
}
