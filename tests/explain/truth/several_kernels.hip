// SPDX-License-Identifier: MIT
//
// Four kernels, each launched often: several_kernels SCALE makes one of them, Spin<2>, take SCALE
// times as long. For comparing runs of what is the same program, and of one that changed.
#include "truth.h"

int main(int count, char** arguments) {
  const double scale = count > 1 ? atof(arguments[1]) : 1;
  constexpr int kRounds = 1500, kTimes = 40;
  int* const memory = truth::Allocate(64);
  for (int i = 0; i < kTimes; ++i) {
    truth::Spin<0><<<1, 64>>>(memory, kRounds);
    truth::Spin<1><<<1, 64>>>(memory, 3 * kRounds);
    truth::Spin<2><<<1, 64>>>(memory, static_cast<int>(2 * kRounds * scale));
    truth::Spin<3><<<1, 64>>>(memory, 4 * kRounds);
    CHECK(hipDeviceSynchronize());
  }
  truth::Truth().Add("kernels", 4 * kTimes).Print();
}
