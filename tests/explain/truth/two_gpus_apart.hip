// SPDX-License-Identifier: MIT
//
// Two GPUs of one program. two_gpus_apart MODE
//   imbalance   one has three times the work of the other
//   clean       both have the same
#include "truth.h"

using namespace truth;

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  BusyKernels first(64, 0), second(64, 1);
  constexpr int kKernels = 9;
  for (int i = 0; i < kKernels; ++i) {
    CHECK(hipSetDevice(0));
    first.Launch(60);
    CHECK(hipSetDevice(1));
    if (mode == "clean" || i % 3 == 0) second.Launch(60);
  }
  CHECK(hipDeviceSynchronize());
  const double other = second.Milliseconds();
  CHECK(hipSetDevice(0));
  CHECK(hipDeviceSynchronize());
  const double one = first.Milliseconds();
  if (mode == "clean") {
    Truth().Add("busy_ms", one).Print();
  } else {
    Truth::Finding("gpu-imbalance", (one - other) / 2).Print();
  }
}
