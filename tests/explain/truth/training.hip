// SPDX-License-Identifier: MIT
//
// Steps of a training run. training MODE
//   growing   kernels take longer from step to step
//   warm_up   the first two steps take much longer; the others load for a while
//   clean     all steps take the same time
#include <algorithm>

#include "truth.h"

using namespace truth;

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  BusyKernels gpu;
  std::vector<double> steps;
  for (int step = 0; step < (mode == "growing" ? 24 : 12); ++step) {
    const double from = NowMs();
    {
      const Range range("step " + std::to_string(step));
      if (mode == "warm_up") {
        const Range loading(step < 2 ? "set up" : "load");
        SleepMs(step < 2 ? 300 : 10);
      }
      gpu.Launch<1>(mode == "growing" ? 10 + 3 * step : mode == "warm_up" ? 30 : 80);
      CHECK(hipDeviceSynchronize());
    }
    steps.push_back(NowMs() - from);
  }
  if (mode == "warm_up") {
    std::vector<double> steady(steps.begin() + 6, steps.end());
    std::sort(steady.begin(), steady.end());
    Truth::Finding("warm-up", steps[0] + steps[1] - 2 * steady[3]).Add("what", "(load)").Print();
    return 0;
  }
  if (mode == "clean") {
    Truth().Add("busy_ms", gpu.Milliseconds()).Print();
    return 0;
  }
  double more = 0;
  std::vector<double> early(steps.begin(), steps.begin() + 3);
  std::sort(early.begin(), early.end());
  for (const double step : steps) more += std::max(0.0, step - early[1]);
  Truth::Finding("growing-steps", more).Print();
}
