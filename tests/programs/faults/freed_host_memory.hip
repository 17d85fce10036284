// SPDX-License-Identifier: MIT
//
// A kernel that reads host memory which was registered with the GPU and then freed, without being
// unregistered: the C library has given the pages back to the system, and nobody told the GPU.

#include <stdlib.h>

#include "fault.h"

__global__ void Sum(const int* data, int count, int* sum) {
  LAUNDER(data);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(sum, data[i]);
}

int main() {
  program::Begin("freed_host_memory");
  const int count = 1 << 20;  // far beyond what free() keeps
  int* host = static_cast<int*>(malloc(count * sizeof(int)));
  for (int i = 0; i < count; ++i) host[i] = 1;
  HIP_CALL(hipHostRegister(host, count * sizeof(int), hipHostRegisterDefault));
  int* mapped = nullptr;
  HIP_CALL(hipHostGetDevicePointer(reinterpret_cast<void**>(&mapped), host, 0));
  int* sum = program::NewDevice<int>(1);
  HIP_MEMSET(sizeof(int), hipMemset(sum, 0, sizeof(int)));
  LAUNCH(Sum, count / 256, 256, 0, nullptr, mapped, count, sum);
  HIP_CALL(hipDeviceSynchronize());
  CHECK(program::Download(sum, 1)[0] == count, "the kernel did not see the memory");
  free(host);
  LAUNCH_FAULTING(Sum, 1, 256, mapped, count, sum);
  return program::Report();
}
