// SPDX-License-Identifier: MIT
//
// Calls that fail. failures MODE
//   ignored   the program goes on
//   asked     calls that fail only to say something: no finding
#include "truth.h"

using namespace truth;

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  BusyKernels gpu;
  int failed = 0;
  for (int round = 0; round < 8; ++round) {
    gpu.Launch<1>(40);
    if (mode == "ignored") {
      failed += hipMemcpy(nullptr, reinterpret_cast<void*>(16), 1 << 20, hipMemcpyHostToDevice) !=
                hipSuccess;
      (void)hipGetLastError();
    } else {
      gpu.Launch<2>(40);
      failed += hipStreamQuery(nullptr) == hipErrorNotReady;
    }
  }
  CHECK(hipDeviceSynchronize());
  if (mode == "ignored") {
    Truth::Finding("failed-calls", 0).Add("calls", failed).Add("what", "hipMemcpy").Print();
  } else {
    Truth().Add("busy_ms", gpu.Milliseconds()).Print();
  }
}
