// SPDX-License-Identifier: MIT
//
// Steps of a training run. training MODE
//   growing   kernels take longer from step to step
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
      gpu.Launch<1>(mode == "growing" ? 10 + 3 * step : 80);
      CHECK(hipDeviceSynchronize());
    }
    steps.push_back(NowMs() - from);
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
