// SPDX-License-Identifier: MIT
//
// Many launches. launches MODE
//   slow       the host needs longer for each launch than its kernel takes
//   sequence   the same with three kernels that come again and again
//   tiny       thousands of very short kernels, in a graph
//   calls      a call that does nothing, a great many times, which costs most while it is recorded
//   few_calls  the same, not often
//   graph      the sequence as a HIP graph
#include "truth.h"

using namespace truth;

namespace {

// Ten microseconds, or a little more.
__global__ void Tiny(int* out) {
  const long long begin = wall_clock64();
  while (wall_clock64() - begin < 1000) {
  }
  if (blockIdx.x == 100000) *out = 1;
}

}  // namespace

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  constexpr int kKernels = 900;
  BusyKernels gpu(2 * kKernels + 16);
  int* memory = Allocate(1024);
  Tiny<<<1, 64>>>(memory);
  CHECK(hipDeviceSynchronize());
  if (mode == "tiny") {
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t executable;
    CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
    for (int i = 0; i < 1500; ++i) Tiny<<<1, 64, 0, stream>>>(memory);
    CHECK(hipStreamEndCapture(stream, &graph));
    CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipDeviceSynchronize());
    const double from = NowMs();
    for (int i = 0; i < 10; ++i) CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipDeviceSynchronize());
    Truth::Finding("tiny-kernels", (NowMs() - from) * 11 / 10).Print();
    return 0;
  }
  if (mode == "calls" || mode == "few_calls") {
    const double from = NowMs();
    int device = 0;
    for (int i = 0; i < (mode == "calls" ? 400'000 : 1'000); ++i) {
      CHECK(hipGetDevice(&device));
      if (i % 20'000 == 19'999) SleepMs(1);  // the recorder keeps up with them
    }
    const double calling = NowMs() - from;
    for (int i = 0; i < (mode == "calls" ? 1 : 50); ++i) gpu.Launch<1>(10);
    CHECK(hipDeviceSynchronize());
    if (mode == "calls")
      Truth::Finding("recording", calling).Add("what", "hipGetDevice").Print();
    else
      Truth().Add("busy_ms", gpu.Milliseconds()).Print();
    return 0;
  }
  if (mode == "graph") {
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t executable;
    CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
    for (int i = 0; i < 40; ++i) gpu.Launch<1>(1, stream);
    CHECK(hipStreamEndCapture(stream, &graph));
    CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    // A graph's kernels find their times noted from its second launch on, and end at once.
    for (int i = 0; i < 10; ++i) {
      CHECK(hipGraphLaunch(executable, stream));
      for (int kernel = 0; kernel < 2; ++kernel) gpu.Launch<2>(40, stream);
    }
    CHECK(hipDeviceSynchronize());
    Truth().Add("busy_ms", 10 * 2 * 40).Print();
    return 0;
  }
  const double from = NowMs();
  for (int i = 0; i < kKernels; ++i) {
    WorkMs(0.4);
    if (mode == "slow" || i % 3 == 0) {
      gpu.Launch<0>(0, nullptr, 1);
    } else if (i % 3 == 1) {
      gpu.Launch<1>(0, nullptr, 1);
    } else {
      gpu.Launch<2>(0, nullptr, 1);
    }
  }
  const double all = NowMs() - from;
  CHECK(hipDeviceSynchronize());
  // Whether the host computes or is slow to launch the trace cannot tell.
  Truth::Finding("launch-rate", all - gpu.Milliseconds())
      .Add("confidence", "likely")
      .Add("wall_ms", all)
      .Add("sequence", mode == "sequence" ? 3 : 1)
      .Add("times", mode == "sequence" ? kKernels / 3 : kKernels)
      .Print();
}
