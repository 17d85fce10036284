// SPDX-License-Identifier: MIT
//
// printf in a kernel: every thread's line must arrive on the program's own stdout, whole, with its
// numbers, strings and conversions right.

#include <algorithm>

#include "program.h"

__global__ void Say(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    printf("say %d.%d: %s %5.2f %#x %lld %c%%\n",
           static_cast<int>(threadIdx.x + blockIdx.x * blockDim.x), round,
           threadIdx.x % 2 ? "odd" : "even", threadIdx.x * 0.25, threadIdx.x + 0xABCD0000u,
           -5000000000ll - threadIdx.x, 'a' + static_cast<int>(threadIdx.x % 26));
  }
}

int main() {
  program::Begin("device_printf");
  const int blocks = 2, threads = 40, rounds = 2;
  // Everything printed until the restore goes to a file.
  FILE* capture = tmpfile();
  CHECK(capture != nullptr, "no temporary file");
  fflush(stdout);
  const int saved = dup(1);
  dup2(fileno(capture), 1);
  LAUNCH(Say, blocks, threads, 0, nullptr, rounds);
  HIP_CALL(hipDeviceSynchronize());
  fflush(stdout);
  dup2(saved, 1);
  close(saved);

  std::vector<std::string> got, want;
  rewind(capture);
  char line[256];
  while (fgets(line, sizeof(line), capture)) got.push_back(line);
  fclose(capture);
  for (int block = 0; block < blocks; ++block) {
    for (int thread = 0; thread < threads; ++thread) {
      for (int round = 0; round < rounds; ++round) {
        snprintf(line, sizeof(line), "say %d.%d: %s %5.2f %#x %lld %c%%\n",
                 thread + block * threads, round, thread % 2 ? "odd" : "even", thread * 0.25,
                 thread + 0xABCD0000u, -5000000000ll - thread, 'a' + thread % 26);
        want.push_back(line);
      }
    }
  }
  std::sort(got.begin(), got.end());
  std::sort(want.begin(), want.end());
  CHECK(got.size() == want.size(), "%zu lines arrived, wanted %zu", got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    CHECK(got[i] == want[i], "got \"%s\", wanted \"%s\"", got[i].c_str(), want[i].c_str());
  }
  return program::Pass();
}
