// SPDX-License-Identifier: MIT
//
// What the host waits for or does between launches, where it is easily taken for slow launching.
// hidden_waits MODE
//   item         each step reads four bytes that a kernel computed, then writes a log
//   item_late    the same, and looks at the bytes of the step before, which have long arrived
//   read_file    sleeps in a range before each short kernel
//   sleep        sleeps before each short kernel, and no range says so
//   sleep_ahead  the same, and kernels are long enough to hide it
//   load_while   computes while the GPU works, and sleeps while it does not
//   steady       sleeps in a range in each step; for recordings of a part of it
//   free         gives memory back in each step, which waits for the GPU
#include "truth.h"

using namespace truth;

namespace {

void Steps(int steps, double kernel_ms, double sleep_ms, const char* name) {
  BusyKernels gpu(steps + 16);
  double slept = 0;
  for (int i = 0; i < steps; ++i) {
    gpu.Launch(kernel_ms);
    CHECK(hipDeviceSynchronize());
    const double from = NowMs();
    {
      const Range range(name);
      SleepMs(sleep_ms);
    }
    slept += NowMs() - from;
  }
  Truth::Finding("host-work", slept).Add("what", name).Print();
}

}  // namespace

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  if (mode == "steady") {
    Steps(150, 6, 5, "load");
    return 0;
  }
  if (mode == "load_while") {
    BusyKernels gpu;
    double slept = 0;
    for (int i = 0; i < 8; ++i) {
      gpu.Launch(120);
      WorkCpuMs(50);
      CHECK(hipDeviceSynchronize());
      const double from = NowMs();
      {
        const Range range("read file");
        SleepMs(110);
      }
      slept += NowMs() - from;
    }
    Truth::Finding("host-work", slept).Add("what", "read file").Print();
    return 0;
  }
  if (mode == "read_file") {
    constexpr int kKernels = 200;
    BusyKernels gpu(kKernels + 16);
    double slept = 0;
    for (int i = 0; i < kKernels; ++i) {
      const double from = NowMs();
      {
        const Range range("read file");
        SleepMs(2);
      }
      slept += NowMs() - from;
      gpu.Launch(0.01, nullptr, 1);
    }
    CHECK(hipDeviceSynchronize());
    Truth::Finding("host-work", slept).Add("what", "read file").Print();
    return 0;
  }
  if (mode == "sleep" || mode == "sleep_ahead") {
    const bool ahead = mode == "sleep_ahead";
    const int kernels = ahead ? 80 : 400;
    BusyKernels gpu(kernels + 16);
    double slept = 0;
    for (int i = 0; i < kernels; ++i) {
      const double from = NowMs();
      SleepMs(1.5);
      slept += NowMs() - from;
      ahead ? gpu.Launch(8) : gpu.Launch(0.01, nullptr, 1);
    }
    CHECK(hipDeviceSynchronize());
    if (ahead) {
      Truth().Add("busy_ms", gpu.Milliseconds()).Print();
    } else {
      Truth::Finding("host-work", slept).Print();
    }
    return 0;
  }
  if (mode == "free") {
    constexpr int kSteps = 40;
    BusyKernels gpu;
    std::vector<void*> memory(kSteps);
    for (void*& one : memory) CHECK(hipMalloc(&one, 1 << 20));
    double prepared = 0;
    for (int i = 0; i < kSteps; ++i) {
      gpu.Launch(20);
      CHECK(hipFree(memory[i]));  // waits for the kernel
      const double from = NowMs();
      {
        const Range range("prepare");
        SleepMs(10);
      }
      prepared += NowMs() - from;
    }
    CHECK(hipDeviceSynchronize());
    Truth::Finding("allocation", prepared).Add("what", "hipFree").Print();
    return 0;
  }
  constexpr int kSteps = 60;
  BusyKernels gpu(4 * kSteps + 16);
  hipStream_t stream;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  int* device = Allocate(1024);
  CHECK(hipMemset(device, 0, 4096));
  int* pinned = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned), 4096));
  hipEvent_t arrived[2];
  for (hipEvent_t& event : arrived) CHECK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  double logged = 0;
  for (int i = 0; i < kSteps; ++i) {
    for (int kernel = 0; kernel < 4; ++kernel) gpu.Launch(3, stream);
    if (mode == "item") {
      int value = 0;
      CHECK(hipMemcpyWithStream(&value, device, sizeof value, hipMemcpyDeviceToHost, stream));
    } else {
      CHECK(hipMemcpyAsync(pinned + i % 2, device, sizeof(int), hipMemcpyDeviceToHost, stream));
      CHECK(hipEventRecord(arrived[i % 2], stream));
      if (i > 0) CHECK(hipEventSynchronize(arrived[(i - 1) % 2]));
    }
    const double from = NowMs();
    {
      const Range range("log");
      SleepMs(3);
    }
    logged += NowMs() - from;
  }
  CHECK(hipStreamSynchronize(stream));
  if (mode == "item") {
    Truth::Finding("hidden-synchronization", logged).Add("what", "log").Print();
  } else {
    Truth().Add("busy_ms", gpu.Milliseconds()).Print();
  }
}
