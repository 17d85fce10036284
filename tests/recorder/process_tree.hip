// SPDX-License-Identifier: MIT
//
// Five processes: the first starts two children (fork and exec, posix_spawn), each child starts one
// more (system(3), fork and exec). The third kind of child never uses the GPU before its own
// starts. Each computes and counts for itself; lines of a child are printed by its parent.
#include <spawn.h>
#include <sys/wait.h>

#include "../programs/program.h"

extern char** environ;

__global__ void Triple(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] *= 3;
}

namespace {

void Compute(int count) {
  std::vector<int> data(count, 7);
  int* device = program::NewDevice(data);
  for (int i = 0; i < count % 5; ++i)
    LAUNCH(Triple, (count + 63) / 64, 64, 0, nullptr, device, count);
  HIP_CALL(hipDeviceSynchronize());
  program::Free(device);
}

pid_t ForkAndExec(const char* self, const char* name) {
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    execl(self, self, name, static_cast<char*>(nullptr));
    _exit(127);
  }
  return pid;
}

pid_t Spawn(const char* self, const char* name) {
  fflush(stdout);
  char* arguments[] = {const_cast<char*>(self), const_cast<char*>(name), nullptr};
  pid_t pid = -1;
  CHECK(posix_spawn(&pid, self, nullptr, nullptr, arguments, environ) == 0, "no child");
  return pid;
}

void Wait(pid_t pid) {
  int status = 0;
  CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "a child ended with 0x%x",
        status);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "main";
  const std::string self = program::Sibling("process_tree");
  program::Begin("process_tree", argc > 1 ? argv[1] : "main");
  if (name == "main") {
    Compute(1001);
    Wait(ForkAndExec(self.c_str(), "left"));
    Wait(Spawn(self.c_str(), "right"));
    Compute(1002);
  } else if (name == "left") {
    Compute(1003);
    fflush(stdout);
    CHECK(system((self + " left-leaf").c_str()) == 0, "the left leaf failed");
  } else if (name == "right") {
    Wait(ForkAndExec(self.c_str(), "right-leaf"));
    Compute(1004);
  } else {
    Compute(1003);
  }
  return program::Pass();
}
