// SPDX-License-Identifier: MIT
//
// A program that starts itself again, twice at the same time, by fork and exec, after it has used
// the GPU itself: parent and children all compute, and the parent goes on afterwards. The
// children's lines are printed by the parent, in order.

#include <sys/wait.h>

#include "program.h"

__global__ void Triple(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] *= 3;
}

namespace {

void Compute(int seed) {
  const int count = 2000 + seed;
  std::vector<int> data(count);
  for (int i = 0; i < count; ++i) data[i] = i + seed;
  int* device = program::NewDevice(data);
  LAUNCH(Triple, (count + 63) / 64, 64, 0, nullptr, device, count);
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<int> got = program::Download(device, count);
  for (int i = 0; i < count; ++i) CHECK(got[i] == data[i] * 3, "element %d is %d", i, got[i]);
  program::Free(device);
}

struct Child {
  pid_t pid;
  int output;
};

Child Start(const char* self, const char* name) {
  int ends[2];
  CHECK(pipe(ends) == 0, "no pipe");
  fflush(stdout);
  const pid_t pid = fork();
  CHECK(pid >= 0, "fork failed");
  if (pid == 0) {
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    execl(self, self, name, static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  return {pid, ends[0]};
}

void Finish(Child child, const char* name) {
  std::string text;
  char chunk[4096];
  for (ssize_t got; (got = read(child.output, chunk, sizeof(chunk))) > 0;) text.append(chunk, got);
  close(child.output);
  int status = 0;
  waitpid(child.pid, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s ended with status 0x%x: %s", name,
        status, text.c_str());
  CHECK(text.find("PASS fork_exec") != std::string::npos, "%s did not pass: %s", name,
        text.c_str());
  printf("%s", text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    program::Begin("fork_exec", argv[1]);
    Compute(argv[1][5]);
    return program::Pass();
  }
  program::Begin("fork_exec");
  const std::string self = program::Sibling("fork_exec");
  Compute(1);
  const Child first = Start(self.c_str(), "child0");
  const Child second = Start(self.c_str(), "child1");
  Compute(2);
  Finish(first, "child0");
  Finish(second, "child1");
  Compute(3);
  return program::Pass();
}
