// SPDX-License-Identifier: MIT
//
// What happens once: the first launch makes the queue and loads the code; with `stream`, the queue
// is made before it. Then twenty steps in which the host sleeps: in the steady state the GPU waits
// for that.
#include "truth.h"

using namespace truth;

int main(int count, char**) {
  Calls calls;
  int* memory = nullptr;
  calls([&] { memory = Allocate(256); });
  hipStream_t stream = nullptr;
  const double create = count > 1 ? calls([&] { CHECK(hipStreamCreate(&stream)); }) : 0;
  const double first_launch = calls([&] { Spin<0><<<1, 64, 0, stream>>>(memory, 10000); });
  calls([&] { CHECK(hipDeviceSynchronize()); });
  double launches = 0, slept = 0;
  for (int i = 0; i < 20; ++i) {
    launches += calls([&] { Spin<0><<<1, 64, 0, stream>>>(memory, 10000); });
    calls([&] { CHECK(hipDeviceSynchronize()); });
    const double begin = NowMs();
    SleepMs(5);
    slept += NowMs() - begin;
  }
  calls([&] { CHECK(hipDeviceSynchronize()); });
  Truth()
      .Add("create_ms", create)
      .Add("first_launch_ms", first_launch)
      .Add("launches_ms", launches)
      .Add("slept_ms", slept)
      .Add("outside_ms", calls.OutsideMs())
      .Print();
}
