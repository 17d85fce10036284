// SPDX-License-Identifier: MIT
//
// What the host does between launches while the GPU waits for it. host_work MODE
//   sleep     sleeps inside a range
//   compute   computes inside a range
//   plain     sleeps, and no range says so
#include "truth.h"

using namespace truth;

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "sleep";
  int* memory = Allocate(256);
  Spin<0><<<1, 64>>>(memory, 10);
  CHECK(hipDeviceSynchronize());
  double outside = 0;
  const double begin = NowMs();
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4; ++i) Spin<0><<<1, 64>>>(memory, 40000);
    CHECK(hipDeviceSynchronize());
    const double from = NowMs();
    if (mode == "plain") {
      SleepMs(40);
    } else {
      const Range range("prepare batch");
      mode == "sleep" ? SleepMs(40) : WorkMs(40);
    }
    outside += NowMs() - from;
  }
  Truth().Add("host_ms", outside).Add("wall_ms", NowMs() - begin).Print();
}
