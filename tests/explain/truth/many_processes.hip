// SPDX-License-Identifier: MIT
//
// many_processes COUNT: so many processes, one after the other and eight at a time, each with a
// stream of its own and ten kernels on the same GPU.
#include <sys/wait.h>

#include "truth.h"

using namespace truth;

static int Work() {
  int* memory = Allocate(256);
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreate(&stream));
  for (int i = 0; i < 10; ++i) Spin<0><<<1, 64, 0, stream>>>(memory, 2000);
  CHECK(hipStreamSynchronize(stream));
  return 0;
}

int main(int count, char** arguments) {
  const int processes = count > 1 ? atoi(arguments[1]) : 4;
  int under_way = 0, failed = 0;
  const auto wait_for_one = [&] {
    int status = 0;
    wait(&status);
    --under_way;
    failed += status != 0;
  };
  for (int i = 0; i < processes; ++i) {
    if (under_way == 8) wait_for_one();
    if (fork() == 0) return Work();
    ++under_way;
  }
  while (under_way > 0) wait_for_one();
  Truth().Add("processes", processes).Add("failed", failed).Print();
  return failed == 0 ? 0 : 1;
}
