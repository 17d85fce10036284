// SPDX-License-Identifier: MIT
//
// Memory that is allocated and freed again and again. allocate MODE
//   device   hipMalloc and hipFree
//   host     hipHostMalloc and hipHostFree
//   clean    once
#include "truth.h"

using namespace truth;

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  constexpr size_t kBytes = 8 << 20;
  BusyKernels gpu;
  double allocating = 0;
  void* memory = nullptr;
  // Ever more pieces between a few kernels: waiting for these costs little beside.
  const int rounds = 12, pieces = mode == "device" ? 150 : mode == "host" ? 1000 : 1;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < pieces && (mode != "clean" || round == 0); ++i) {
      const double from = NowMs();
      if (mode == "host") {
        CHECK(hipHostMalloc(&memory, kBytes));
        CHECK(hipHostFree(memory));
      } else {
        CHECK(hipMalloc(&memory, kBytes));
        if (mode == "device") CHECK(hipFree(memory));
      }
      allocating += NowMs() - from;
    }
    gpu.Launch(mode == "clean" ? 80 : 10);
    CHECK(hipDeviceSynchronize());
  }
  if (mode == "clean") {
    Truth().Add("busy_ms", gpu.Milliseconds()).Print();
  } else {
    Truth::Finding("allocation", allocating).Print();
  }
}
