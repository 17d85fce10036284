// SPDX-License-Identifier: MIT
//
// Streams that wait for something. streams MODE
//   default_stream   kernels of the default stream and of a stream that waits for it
//   clean            the same with a stream that does not
//   host_function    kernels that wait for a function of the program
//   instantiate      a graph is instantiated again for each launch
#include <algorithm>

#include "truth.h"

using namespace truth;

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  constexpr int kRounds = 12;
  BusyKernels gpu;
  hipStream_t stream;
  CHECK(hipStreamCreateWithFlags(
      &stream, mode == "default_stream" ? hipStreamDefault : hipStreamNonBlocking));
  if (mode == "default_stream" || mode == "clean") {
    for (int round = 0; round < kRounds; ++round) {
      gpu.Launch<0>(25);
      gpu.Launch<1>(25, stream);
    }
    CHECK(hipDeviceSynchronize());
    if (mode == "clean") {
      Truth().Add("busy_ms", gpu.Milliseconds()).Print();
    } else {
      Truth::Finding("default-stream", std::min(gpu.Milliseconds(1, 2), gpu.Milliseconds(2, 2)))
          .Print();
    }
  } else if (mode == "host_function") {
    const double from = NowMs();
    for (int round = 0; round < kRounds / 2; ++round) {
      gpu.Launch(10, stream);
      CHECK(hipLaunchHostFunc(stream, [](void*) { SleepMs(80); }, nullptr));
    }
    gpu.Launch(10, stream);
    CHECK(hipDeviceSynchronize());
    // Nothing but functions and kernels ran.
    const double all = NowMs() - from;
    Truth::Finding("host-function", all - gpu.Milliseconds()).Print();
  } else {
    double instantiating = 0;
    hipGraph_t graph;
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
    for (int i = 0; i < 400; ++i) gpu.Launch<1>(0, stream);
    CHECK(hipStreamEndCapture(stream, &graph));
    for (int round = 0; round < kRounds; ++round) {
      const double from = NowMs();
      for (int i = 0; i < 10; ++i) {
        hipGraphExec_t executable;
        CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
      }
      instantiating += NowMs() - from;
      gpu.Launch(5);
      CHECK(hipDeviceSynchronize());
    }
    Truth::Finding("other-call", instantiating).Add("what", "hipGraphInstantiate").Print();
  }
}
