// SPDX-License-Identifier: MIT
//
// The host waits after each short kernel. synchronize MODE
//   device, stream, event   by which call
//   clean                   the same kernels with one wait at the end
#include "truth.h"

using namespace truth;

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  constexpr int kMost = 20000;
  BusyKernels gpu(kMost + 16);
  hipEvent_t event;
  CHECK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  double recording = 0;  // a call of its own, and a finding of its own
  const double from = NowMs();
  // As many as it takes on this machine.
  for (int i = 0; i < (mode == "clean" ? 150 : kMost) && (i < 40 || NowMs() - from < 400); ++i) {
    // One workgroup takes as long for the GPU as for itself; more take a while to start. It is
    // short, so that a GPU with one workgroup is not what costs most.
    gpu.Launch(mode == "clean" ? 5 : 0.001, nullptr, mode == "clean" ? 0 : 1);
    if (mode == "device") {
      CHECK(hipDeviceSynchronize());
    } else if (mode == "stream") {
      CHECK(hipStreamSynchronize(nullptr));
    } else if (mode == "event") {
      const double before = NowMs();
      CHECK(hipEventRecord(event));
      recording += NowMs() - before;
      CHECK(hipEventSynchronize(event));
    }
  }
  CHECK(hipDeviceSynchronize());
  const double all = NowMs() - from;
  if (mode == "clean") {
    Truth().Add("busy_ms", gpu.Milliseconds()).Print();
  } else {
    Truth::Finding("synchronization", all - recording - gpu.Milliseconds())
        .Add("wall_ms", all)
        .Add("kernel_ms", gpu.Milliseconds())
        // A kernel's own clocks do not see the GPU start and end its workgroup, 1 to 2 us.
        .Add("unseen_ms", gpu.launched() * 0.002)
        .Print();
  }
}
