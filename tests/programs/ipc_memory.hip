// SPDX-License-Identifier: MIT
//
// Device memory shared between two processes: the parent sends a handle over a pipe, the child, a
// process of its own, opens it, checks and changes the contents, and the parent sees the change.

#include <sys/wait.h>

#include "program.h"

__global__ void Transform(int* data, int count, int factor, int addend) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = data[i] * factor + addend;
}

namespace {

constexpr int kCount = 20000;

void Expect(const int* device, int factor, int addend) {
  const std::vector<int> got = program::Download(device, kCount);
  for (int i = 0; i < kCount; ++i) {
    CHECK(got[i] == i * factor + addend, "element %d is %d, wanted %d", i, got[i],
          i * factor + addend);
  }
}

int Child() {
  program::Begin("ipc_memory", "child0");
  hipIpcMemHandle_t handle;
  CHECK(read(0, &handle, sizeof(handle)) == sizeof(handle), "the handle did not arrive");
  void* shared = nullptr;
  HIP_CALL(hipIpcOpenMemHandle(&shared, handle, hipIpcMemLazyEnablePeerAccess));
  Expect(static_cast<int*>(shared), 1, 7);
  LAUNCH(Transform, (kCount + 255) / 256, 256, 0, nullptr, static_cast<int*>(shared), kCount, 2, 1);
  HIP_CALL(hipDeviceSynchronize());
  HIP_CALL(hipIpcCloseMemHandle(shared));
  return program::Pass();
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) return Child();
  program::Begin("ipc_memory");
  // Started before this process touches the GPU; it waits for the handle.
  const std::string self = program::Sibling("ipc_memory");
  int to_child[2], from_child[2];
  CHECK(pipe(to_child) == 0 && pipe(from_child) == 0, "no pipe");
  const pid_t pid = fork();
  CHECK(pid >= 0, "fork failed");
  if (pid == 0) {
    dup2(to_child[0], 0);
    dup2(from_child[1], 1);
    for (int end : {to_child[0], to_child[1], from_child[0], from_child[1]}) close(end);
    execl(self.c_str(), self.c_str(), "child", static_cast<char*>(nullptr));
    _exit(127);
  }
  close(to_child[0]);
  close(from_child[1]);

  std::vector<int> data(kCount);
  for (int i = 0; i < kCount; ++i) data[i] = i + 7;
  int* device = program::NewDevice(data);
  HIP_CALL(hipDeviceSynchronize());
  hipIpcMemHandle_t handle;
  HIP_CALL(hipIpcGetMemHandle(&handle, device));
  CHECK(write(to_child[1], &handle, sizeof(handle)) == sizeof(handle), "cannot send the handle");
  close(to_child[1]);
  std::string text;
  char chunk[4096];
  for (ssize_t got; (got = read(from_child[0], chunk, sizeof(chunk))) > 0;) text.append(chunk, got);
  int status = 0;
  waitpid(pid, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with status 0x%x: %s",
        status, text.c_str());
  printf("%s", text.c_str());
  Expect(device, 2, 15);
  program::Free(device);
  return program::Pass();
}
