// SPDX-License-Identifier: MIT
//
// A range that launches kernels and ends before they have run. launched_ahead [waits]
//   (none)    the host waits for every fifth round, outside of the range
//   waits     it waits inside of the range: the clean twin
#include "truth.h"

using namespace truth;

int main(int count, char** arguments) {
  const bool waits = count > 1 && std::string(arguments[1]) == "waits";
  BusyKernels before, gpu;
  for (int round = 0; round < 20; ++round) {
    if (!waits) before.Launch<0>(20);  // the range's kernels start after it
    {
      const Range range("forward");
      gpu.Launch<1>(10);
      gpu.Launch<2>(10);
      if (waits) CHECK(hipDeviceSynchronize());
    }
    if (round % 5 == 4) CHECK(hipDeviceSynchronize());
  }
  Truth().Add("kernels_ms", gpu.Milliseconds()).Print();
}
