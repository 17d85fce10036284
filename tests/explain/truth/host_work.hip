// SPDX-License-Identifier: MIT
//
// What the host does between launches. host_work MODE
//   sleep     sleeps inside a range while the GPU has nothing to do
//   compute   computes inside a range
//   plain     sleeps, and no range says so
//   clean     computes just as long, after the next kernel has been launched
#include "truth.h"

using namespace truth;

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  BusyKernels gpu;
  double outside = 0;
  for (int round = 0; round < 14; ++round) {
    gpu.Launch(mode == "compute" ? 5 : mode == "clean" ? 80 : 30);
    if (mode != "clean") CHECK(hipDeviceSynchronize());
    const double from = NowMs();
    if (mode == "plain") {
      SleepMs(40);
    } else {
      const Range range("prepare batch");
      mode == "sleep" ? SleepMs(40) : WorkMs(mode == "clean" ? 20 : 40);
    }
    outside += NowMs() - from;
  }
  CHECK(hipDeviceSynchronize());
  if (mode == "clean") {
    Truth().Add("busy_ms", gpu.Milliseconds()).Print();
  } else {
    // On a busy machine it cannot be seen whether a thread computes or waits for a processor.
    Truth::Finding(mode == "compute" ? "cpu-work or host-work" : "host-work", outside)
        .Add("what", mode == "plain" ? "" : "prepare batch")
        .Print();
  }
}
