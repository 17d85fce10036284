// SPDX-License-Identifier: MIT
//
// Kernels with a function of the host between them, five times 40 ms: the GPU waits for that.
// idle_host_function MODE
//   queued   everything is put on the stream at once
//   waited   the host waits for each function before it goes on
//   clean    no function
#include "truth.h"

using namespace truth;

namespace {

struct Span {
  double begin, end;
};

void Work(void* span) {
  const double begin = NowMs();
  SleepMs(40);
  *static_cast<Span*>(span) = {begin, NowMs()};
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "queued";
  Calls calls;
  int* memory = nullptr;
  hipStream_t stream;
  calls([&] { memory = Allocate(256); });
  calls([&] { CHECK(hipStreamCreate(&stream)); });
  std::vector<Span> spans(mode == "clean" ? 0 : 5);
  for (size_t i = 0; i < 5; ++i) {
    calls([&] { Spin<0><<<1, 64, 0, stream>>>(memory, 50000); });
    if (mode != "clean") calls([&] { CHECK(hipLaunchHostFunc(stream, Work, &spans[i])); });
    if (mode == "waited") calls([&] { CHECK(hipStreamSynchronize(stream)); });
  }
  calls([&] { Spin<1><<<1, 64, 0, stream>>>(memory, 50000); });
  calls([&] { CHECK(hipStreamSynchronize(stream)); });
  Truth truth;
  for (size_t i = 0; i < spans.size(); ++i) {
    truth.Add("begin_" + std::to_string(i), spans[i].begin);
    truth.Add("end_" + std::to_string(i), spans[i].end);
  }
  truth.Add("outside_ms", calls.OutsideMs()).Print();
}
