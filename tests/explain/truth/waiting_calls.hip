// SPDX-License-Identifier: MIT
//
// Calls that wait for the GPU. Each round launches a kernel and then waits for it in one way, so
// that the kernel is what the program takes its time for. waiting_calls MODE
//   sync          hipDeviceSynchronize
//   copy          hipMemcpy from the GPU, by a copy engine: it is large enough
//   small_copy    hipMemcpy of a few bytes, which the runtime copies with a kernel
//   pageable      hipMemcpyAsync into memory from malloc
//   free          hipFree
//   destroy       hipStreamDestroy
//   event_poll    hipEventQuery until it is ready
//   stream_poll   hipStreamQuery until it is ready
//   two_polls     hipEventQuery of two events in turn until the first is ready; the other is that of
//                 a kernel beside, which ends before the last round
//   overlap       does not wait: allocates memory and copies from pinned memory, and then the host
//                 works for longer than the kernel
#include "truth.h"

using namespace truth;

int main(int count, char** arguments) {
  constexpr int kRounds = 5;
  constexpr size_t kLarge = 1 << 18;
  const std::string mode = count > 1 ? arguments[1] : "sync";
  const int kernel_rounds = mode == "overlap" ? 20000 : 200000;
  int* memory = Allocate(kLarge / sizeof(int));
  int* other = Allocate(256);
  int* pageable = static_cast<int*>(malloc(kLarge));
  int* pinned = nullptr;
  CHECK(hipHostMalloc(&pinned, 256));
  std::vector<int*> given;
  for (int i = 0; i < kRounds; ++i) given.push_back(Allocate(1 << 20));
  hipStream_t stream, second;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  hipEvent_t event, beside;
  CHECK(hipEventCreate(&event));
  CHECK(hipEventCreate(&beside));
  // What is loaded and made at first use is not what is measured.
  Spin<1><<<1, 64, 0, stream>>>(memory, 10);
  Spin<2><<<1, 64, 0, second>>>(other, 10);
  CHECK(hipMemcpyAsync(pageable, memory, 256, hipMemcpyDeviceToHost, stream));
  CHECK(hipMemcpyAsync(other, pinned, 256, hipMemcpyHostToDevice, second));
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(pageable, memory, 256, hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(pageable, memory, kLarge, hipMemcpyDeviceToHost));

  double host = 0;
  rochound_range_push("measured");
  const double begin = NowMs();
  if (mode == "two_polls") {
    Spin<2><<<1, 64, 0, second>>>(other, 2 * kernel_rounds);
    CHECK(hipEventRecord(beside, second));
  }
  for (int round = 0; round < kRounds; ++round) {
    hipStream_t fresh = nullptr;
    if (mode == "destroy") CHECK(hipStreamCreate(&fresh));
    const hipStream_t used = mode == "destroy"                        ? fresh
                             : mode == "copy" || mode == "small_copy" ? nullptr
                                                                      : stream;
    Spin<1><<<1, 64, 0, used>>>(memory, kernel_rounds);
    if (mode == "sync") {
      CHECK(hipDeviceSynchronize());
    } else if (mode == "copy") {
      CHECK(hipMemcpy(pageable, memory, kLarge, hipMemcpyDeviceToHost));
    } else if (mode == "small_copy") {
      CHECK(hipMemcpy(pageable, memory, 256, hipMemcpyDeviceToHost));
    } else if (mode == "pageable") {
      CHECK(hipMemcpyAsync(pageable, memory, 256, hipMemcpyDeviceToHost, stream));
    } else if (mode == "free") {
      CHECK(hipFree(given[round]));
    } else if (mode == "destroy") {
      CHECK(hipStreamDestroy(fresh));
    } else if (mode == "event_poll") {
      CHECK(hipEventRecord(event, stream));
      while (hipEventQuery(event) == hipErrorNotReady) usleep(200);
    } else if (mode == "two_polls") {
      CHECK(hipEventRecord(event, stream));
      for (bool ready = false; !ready; usleep(200)) {
        ready = hipEventQuery(event) == hipSuccess;
        (void)hipEventQuery(beside);
      }
    } else if (mode == "stream_poll") {
      while (hipStreamQuery(stream) == hipErrorNotReady) usleep(200);
    } else {
      int* more = Allocate(1 << 20);
      CHECK(hipMemcpyAsync(more, pinned, 256, hipMemcpyHostToDevice, second));
      const double from = NowMs();
      {
        const Range range("long work");
        SleepMs(80);
      }
      host += NowMs() - from;
    }
  }
  const double wall = NowMs() - begin;
  rochound_range_pop();
  CHECK(hipDeviceSynchronize());
  Truth().Add("wall_ms", wall).Add("host_ms", host).Print();
}
