// SPDX-License-Identifier: MIT
//
// Work in rounds that begin when the one before is over. rounds MODE
//   threads     each round starts two threads with a GPU each and waits for them; the second has
//               twelve times as much to do, so that it ends last on a busy machine, too
//   processes   each round is a process of its own, started by one that does not use GPUs
//   process     such a round
#include <sys/wait.h>

#include "truth.h"

using namespace truth;

namespace {

constexpr int kRounds = 4, kKernelRounds = 120000;

void Threads() {
  for (int gpu = 0; gpu < 2; ++gpu) {
    CHECK(hipSetDevice(gpu));
    int* memory = Allocate(256);
    Spin<1><<<1, 64>>>(memory, 10);
    Spin<2><<<1, 64>>>(memory, 10);
    CHECK(hipDeviceSynchronize());
  }
  rochound_range_push("measured");
  const double begin = NowMs();
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::thread> threads;
    for (int gpu = 0; gpu < 2; ++gpu) {
      threads.emplace_back([gpu] {
        CHECK(hipSetDevice(gpu));
        int* memory = Allocate(256);
        if (gpu == 0) {
          Spin<1><<<1, 64>>>(memory, kKernelRounds / 4);
        } else {
          Spin<2><<<1, 64>>>(memory, 3 * kKernelRounds);
        }
        CHECK(hipDeviceSynchronize());
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const double wall = NowMs() - begin;
  rochound_range_pop();
  CHECK(hipSetDevice(0));
  CHECK(hipDeviceSynchronize());
  Truth().Add("wall_ms", wall).Print();
}

void Process() {
  int* memory = Allocate(256);
  const double begin = NowMs();
  Spin<1><<<1, 64>>>(memory, 4 * kKernelRounds);
  CHECK(hipDeviceSynchronize());
  Truth().Add("kernel_ms_" + std::to_string(getpid()), NowMs() - begin).Print();
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "threads";
  if (mode == "threads") {
    Threads();
  } else if (mode == "process") {
    Process();
  } else {
    for (int round = 0; round < 2; ++round) {
      const pid_t child = fork();
      if (child == 0) {
        execl(arguments[0], arguments[0], "process", nullptr);
        _exit(9);
      }
      int status = 0;
      if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 9;
    }
  }
}
