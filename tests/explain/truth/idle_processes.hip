// SPDX-License-Identifier: MIT
//
// Three processes on one GPU, with 20, 40 and 60 kernels. Each has a queue of its own.
#include <sys/wait.h>

#include "truth.h"

using namespace truth;

namespace {

int Launch(int kernels) {
  int* memory = Allocate(256);
  for (int i = 0; i < kernels; ++i) Spin<0><<<1, 64>>>(memory, 10000);
  CHECK(hipDeviceSynchronize());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) return Launch(atoi(arguments[1]));
  Truth truth;
  std::vector<pid_t> children;
  for (const char* kernels : {"20", "40", "60"}) {
    const pid_t child = fork();
    if (child == 0) {
      execl("/proc/self/exe", arguments[0], kernels, nullptr);
      _exit(127);
    }
    children.push_back(child);
    truth.Add(kernels, static_cast<double>(child));
  }
  for (const pid_t child : children) {
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  truth.Print();
}
