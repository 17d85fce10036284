// SPDX-License-Identifier: MIT
//
// Steps, and every ten of them what was computed is kept in a file. checkpoint MODE
//   stall    the program copies and writes before it goes on
//   beside   it copies on another stream, and another thread writes
#include "truth.h"

using namespace truth;

int main(int, char** arguments) {
  const bool beside = std::string(arguments[1]) == "beside";
  constexpr size_t kBytes = 16 << 20;
  BusyKernels gpu;
  char* const device = Allocate<char>(kBytes);
  char* host = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&host), kBytes));
  hipStream_t copying;
  CHECK(hipStreamCreateWithFlags(&copying, hipStreamNonBlocking));
  double stalled = 0;
  std::vector<std::thread> writing;
  for (int step = 1; step <= 50; ++step) {
    gpu.Launch(10);
    if (step % 10 != 0 || step == 50) continue;
    if (beside) {
      CHECK(hipMemcpyAsync(host, device, kBytes, hipMemcpyDeviceToHost, copying));
      writing.emplace_back([] { SleepMs(50); });
      continue;
    }
    CHECK(hipDeviceSynchronize());
    const double from = NowMs();
    CHECK(hipMemcpy(host, device, kBytes, hipMemcpyDeviceToHost));
    SleepMs(50);
    stalled += NowMs() - from;
  }
  CHECK(hipDeviceSynchronize());
  for (std::thread& thread : writing) thread.join();
  if (beside) {
    Truth().Add("busy_ms", gpu.Milliseconds()).Print();
  } else {
    Truth::Finding("checkpoint", stalled).Add("what", "16.0 MiB").Print();
  }
}
