// SPDX-License-Identifier: MIT
//
// Steps of equal length, each in a range: a kernel, every second time another one in a range "odd",
// a sleep. steps COUNT [MODE]
//   (none)    as said
//   kill      kills itself with SIGKILL after the steps
//   open      pushes a range that it never pops, and another on a thread that ends with it
//   epoch     has a range around all steps
//   self      starts its own recording and stops it for the middle third of the steps
#include <signal.h>

#include "truth.h"

using namespace truth;

int main(int count, char** arguments) {
  const int steps = count > 1 ? atoi(arguments[1]) : 100;
  const std::string mode = count > 2 ? arguments[2] : "";
  if (mode == "self") rochound_start();
  int* memory = Allocate(256);
  Spin<0><<<1, 64>>>(memory, 10);
  Spin<1><<<1, 64>>>(memory, 10);
  CHECK(hipDeviceSynchronize());
  if (mode == "open") {
    std::thread([&] {
      rochound_range_push("of a dead thread");
      SleepMs(40);
      CHECK(hipSetDevice(0));
    }).join();
    rochound_range_push("never popped");
  }
  if (mode == "epoch") rochound_range_push("epoch");
  double longest = 0, work = 0, stopped = 0;
  const double begin = NowMs();
  for (int i = 0; i < steps; ++i) {
    if (mode == "self" && i == steps / 3) {
      stopped = -NowMs();
      rochound_stop();
    }
    if (mode == "self" && i == steps * 2 / 3) {
      rochound_start();
      stopped += NowMs();
    }
    const double from = NowMs();
    const Range range("step " + std::to_string(i));
    Spin<0><<<1, 64>>>(memory, 25600);
    if (i % 2 != 0) {
      const Range odd("odd");
      Spin<1><<<1, 64>>>(memory, 12800);
      CHECK(hipDeviceSynchronize());
    }
    CHECK(hipDeviceSynchronize());
    work += NowMs() - from;
    SleepMs(5);
    longest = std::max(longest, NowMs() - from);
  }
  if (mode == "epoch") rochound_range_pop();
  Truth()
      .Add("wall_ms", NowMs() - begin)
      .Add("longest_step_ms", longest)
      .Add("work_ms", work)
      .Add("stopped_ms", stopped)
      .Print();
  if (mode == "kill") raise(SIGKILL);
}
