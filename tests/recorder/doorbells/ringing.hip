// SPDX-License-Identifier: MIT
//
// Launches kernels from many threads at once, each with a stream of its own; with
// GPU_MAX_HW_QUEUES=1 all of them ring the doorbell of one queue. Every second round of a thread is
// in the range "work". It goes on until stdin ends. Each kernel adds one to its thread's counter:
// what was launched is what was run. A wait for the GPU that takes longer than a minute is a
// failure.
//
//   ringing THREADS
#include <hip/hip_runtime.h>
#include <rochound/rochound.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

__global__ void Step(unsigned* counter) {
  if (threadIdx.x == 0) ++*counter;
}

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience(10);

std::atomic<bool> end{false};
std::atomic<unsigned long> launched{0};
std::atomic<long> longest_ms{0};

void Check(hipError_t result, const char* what) {
  if (result == hipSuccess) return;
  fprintf(stderr, "%s: %s\n", what, hipGetErrorString(result));
  _exit(1);
}

void Wait(hipStream_t stream) {
  const auto begin = Clock::now();
  Check(hipStreamSynchronize(stream), "hipStreamSynchronize");
  const auto took = Clock::now() - begin;
  const long ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  long longest = longest_ms;
  while (longest < ms && !longest_ms.compare_exchange_weak(longest, ms)) {
  }
  if (took < kPatience) return;
  fprintf(stderr, "waited %ld ms for the GPU\n", ms);
  _exit(1);
}

void Produce(unsigned seed) {
  std::minstd_rand random(seed);
  hipStream_t stream = nullptr;
  unsigned* counter = nullptr;
  unsigned long mine = 0;
  Check(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreate");
  Check(hipMalloc(&counter, sizeof *counter), "hipMalloc");
  Check(hipMemset(counter, 0, sizeof *counter), "hipMemset");
  while (!end) {
    const bool in_range = random() % 2 == 0;
    if (in_range) rochound_range_push("work");
    for (unsigned i = random() % 6 + 1; i != 0; --i, ++mine) {
      Step<<<1, 64, 0, stream>>>(counter);
      Check(hipGetLastError(), "launch");
    }
    if (random() % 4 != 0) Wait(stream);
    if (in_range) rochound_range_pop();
  }
  Wait(stream);
  unsigned found = 0;
  Check(hipMemcpy(&found, counter, sizeof found, hipMemcpyDeviceToHost), "hipMemcpy");
  if (found != mine) {
    fprintf(stderr, "a thread launched %lu kernels, the GPU ran %u\n", mine, found);
    _exit(1);
  }
  launched += mine;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::thread> threads;
  for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 4); ++i) threads.emplace_back(Produce, i + 1);
  while (getchar() != EOF) {
  }
  end = true;
  for (std::thread& thread : threads) thread.join();
  printf("elapsed: %lu kernels, longest wait %ld ms\n", launched.load(), longest_ms.load());
  puts("PASS ringing");
  return 0;
}
