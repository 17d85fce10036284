// SPDX-License-Identifier: MIT
//
// hang SECONDS: a kernel that never ends, another one after it in the same stream, and a host that
// waits for them. It is killed after so many seconds, by itself; 0: never.
#include <signal.h>

#include "truth.h"

using namespace truth;

__global__ void WaitForEver(volatile int* flag) {
  while (*flag == 0) {
  }
}

int main(int count, char** arguments) {
  const double seconds = count > 1 ? atof(arguments[1]) : 0;
  int* memory = Allocate(256);
  CHECK(hipMemset(memory, 0, 1024));
  Spin<0><<<1, 64>>>(memory + 64, 10);
  CHECK(hipDeviceSynchronize());
  WaitForEver<<<1, 64>>>(memory);
  const double submitted = NowMs();
  Spin<1><<<1, 64>>>(memory + 64, 10);
  std::thread killer([=] {
    if (seconds == 0) return;
    while (NowMs() < submitted + seconds * 1000) SleepMs(10);
    Truth().Add("waited_ms", NowMs() - submitted).Print();
    raise(SIGKILL);
  });
  killer.detach();
  CHECK(hipDeviceSynchronize());
}
