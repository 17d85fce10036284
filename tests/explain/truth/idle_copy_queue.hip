// SPDX-License-Identifier: MIT
//
// A GPU that is kept busy by 600 kernels on one stream, while five small copies go through another
// one. The second stream's queue is empty nearly all the time, and nobody waits for that.
#include "truth.h"

using namespace truth;

int main() {
  Calls calls;
  int *memory = nullptr, *device = nullptr, *host = nullptr;
  hipStream_t work, copies;
  calls([&] { memory = Allocate(256); });
  calls([&] { device = Allocate(1024); });
  calls([&] { CHECK(hipHostMalloc(&host, 4096)); });
  calls([&] { CHECK(hipStreamCreateWithFlags(&work, hipStreamNonBlocking)); });
  calls([&] { CHECK(hipStreamCreateWithFlags(&copies, hipStreamNonBlocking)); });
  for (int i = 0; i < 600; ++i) {
    calls([&] { Spin<0><<<1, 64, 0, work>>>(memory, 10000); });
    if (i % 120 == 60) {
      calls([&] { CHECK(hipMemcpyAsync(device, host, 4096, hipMemcpyHostToDevice, copies)); });
    }
  }
  calls([&] { CHECK(hipStreamSynchronize(copies)); });
  calls([&] { CHECK(hipStreamSynchronize(work)); });
  Truth().Add("outside_ms", calls.OutsideMs()).Print();
}
