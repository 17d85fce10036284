// SPDX-License-Identifier: MIT
//
// Streams that wait for something else than a stream or an event. stream_waits MODE
//   host_function   functions of the host between kernels; they take most of the time
//   value           a kernel after hipStreamWaitValue64, which a longer kernel's stream writes
//   written_early   likewise, but the value is there already: the clean twin
#include "truth.h"

using namespace truth;

namespace {

double function_ms = 0;

void SlowFunction(void*) {
  const double begin = NowMs();
  SleepMs(20);
  function_ms += NowMs() - begin;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "host_function";
  int* memory = Allocate(256);
  hipStream_t first, second;
  CHECK(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  for (const hipStream_t stream : {first, second}) {
    Spin<1><<<1, 64, 0, stream>>>(memory, 10);
    Spin<2><<<1, 64, 0, stream>>>(memory, 10);
  }
  CHECK(hipLaunchHostFunc(first, [](void*) {}, nullptr));
  CHECK(hipDeviceSynchronize());
  uint64_t* value = nullptr;
  CHECK(hipExtMallocWithFlags(reinterpret_cast<void**>(&value), 8, hipMallocSignalMemory));
  *value = mode == "written_early" ? 1 : 0;

  rochound_range_push("measured");
  const double begin = NowMs();
  if (mode == "host_function") {
    for (int round = 0; round < 5; ++round) {
      Spin<1><<<1, 64, 0, first>>>(memory, 40000);
      CHECK(hipLaunchHostFunc(first, SlowFunction, nullptr));
    }
    Spin<2><<<1, 64, 0, first>>>(memory, 40000);
    CHECK(hipStreamSynchronize(first));
  } else {
    CHECK(hipStreamWaitValue64(second, value, 1, hipStreamWaitValueGte, ~uint64_t{0}));
    Spin<2><<<1, 64, 0, second>>>(memory, 200000);
    Spin<1><<<1, 64, 0, first>>>(memory, 600000);
    CHECK(hipStreamWriteValue64(first, value, 1, 0));
    CHECK(hipStreamSynchronize(second));
  }
  if (mode == "written_early") CHECK(hipDeviceSynchronize());
  const double wall = NowMs() - begin;
  rochound_range_pop();
  CHECK(hipDeviceSynchronize());
  Truth().Add("wall_ms", wall).Add("function_ms", function_ms).Print();
}
