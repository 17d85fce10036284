// SPDX-License-Identifier: MIT
//
// Two GPUs and one thread: what it waits for is on the GPU that it chose. right_gpu MODE
//   stream   the default stream of the first GPU, with shorter work on the second
//   device   all of the first GPU, with longer work on the second, and then the host sleeps until
//            that is over, too
#include "truth.h"

using namespace truth;

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "stream";
  CHECK(hipSetDevice(0));
  int* first = Allocate(256);
  Spin<1><<<1, 64>>>(first, 10);
  CHECK(hipDeviceSynchronize());
  CHECK(hipSetDevice(1));
  int* second = Allocate(256);
  Spin<2><<<1, 64>>>(second, 10);
  CHECK(hipDeviceSynchronize());

  rochound_range_push("measured");
  const double begin = NowMs();
  CHECK(hipSetDevice(0));
  Spin<1><<<1, 64>>>(first, mode == "stream" ? 600000 : 300000);
  CHECK(hipSetDevice(1));
  Spin<2><<<1, 64>>>(second, mode == "stream" ? 150000 : 500000);
  CHECK(hipSetDevice(0));
  if (mode == "stream") {
    CHECK(hipStreamSynchronize(nullptr));
  } else {
    CHECK(hipDeviceSynchronize());
  }
  const double waited = NowMs() - begin;
  double slept = 0;
  if (mode == "device") {
    const Range range("pause");
    const double from = NowMs();
    SleepMs(200);
    slept = NowMs() - from;
  }
  CHECK(hipSetDevice(1));
  CHECK(hipDeviceSynchronize());
  const double wall = NowMs() - begin;
  rochound_range_pop();
  Truth().Add("first_ms", waited).Add("slept_ms", slept).Add("wall_ms", wall).Print();
}
