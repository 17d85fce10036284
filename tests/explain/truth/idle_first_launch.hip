// SPDX-License-Identifier: MIT
//
// What happens once: the first launch loads the code. Then twenty steps in which the host sleeps:
// in the steady state the GPU waits for that.
#include "truth.h"

using namespace truth;

int main() {
  Calls calls;
  int* memory = nullptr;
  calls([&] { memory = Allocate(256); });
  const double first_launch = calls([&] { Spin<0><<<1, 64>>>(memory, 10000); });
  calls([&] { CHECK(hipDeviceSynchronize()); });
  double launches = 0, slept = 0;
  for (int i = 0; i < 20; ++i) {
    launches += calls([&] { Spin<0><<<1, 64>>>(memory, 10000); });
    calls([&] { CHECK(hipDeviceSynchronize()); });
    const double begin = NowMs();
    SleepMs(5);
    slept += NowMs() - begin;
  }
  calls([&] { CHECK(hipDeviceSynchronize()); });
  Truth()
      .Add("first_launch_ms", first_launch)
      .Add("launches_ms", launches)
      .Add("slept_ms", slept)
      .Add("outside_ms", calls.OutsideMs())
      .Print();
}
