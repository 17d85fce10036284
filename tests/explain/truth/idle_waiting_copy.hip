// SPDX-License-Identifier: MIT
//
// Five times ten kernels, and then a copy to the host that waits for them. The GPU works most of
// the time while the host is in hipMemcpy. idle_waiting_copy MODE
//   copy     only the copy waits
//   sync     the host synchronizes before it copies
#include "truth.h"

using namespace truth;

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "copy";
  constexpr size_t kValues = 1 << 16;
  Calls calls;
  int* memory = nullptr;
  std::vector<int> host(kValues);
  calls([&] { memory = Allocate(kValues); });
  calls([&] { Spin<0><<<kValues / 256, 256>>>(memory, 1); });
  calls([&] { CHECK(hipDeviceSynchronize()); });
  double copied = 0;
  for (int step = 0; step < 5; ++step) {
    for (int i = 0; i < 10; ++i) calls([&] { Spin<1><<<kValues / 256, 256>>>(memory, 100); });
    if (mode == "sync") calls([&] { CHECK(hipDeviceSynchronize()); });
    copied += calls([&] {
      CHECK(hipMemcpy(host.data(), memory, kValues * sizeof(int), hipMemcpyDeviceToHost));
    });
  }
  Truth().Add("copied_ms", copied).Add("outside_ms", calls.OutsideMs()).Print();
}
