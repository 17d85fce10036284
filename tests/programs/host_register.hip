// SPDX-License-Identifier: MIT
//
// hipHostRegister: memory of the program's own, at an address that is not page aligned, made
// visible to the device, used by a kernel and by copies, and given back.

#include "program.h"

__global__ void Reverse(const int* in, int* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[count - 1 - i] = in[i];
}

int main() {
  program::Begin("host_register");
  const int count = 30000;
  const size_t bytes = count * sizeof(int);
  std::vector<int> in(count + 3), out(count + 5);
  for (int round = 0; round < 2; ++round) {
    int* host_in = in.data() + 3;
    int* host_out = out.data() + 5;
    for (int i = 0; i < count; ++i) host_in[i] = i * 5 + round, host_out[i] = 0;
    HIP_CALL(hipHostRegister(host_in, bytes, hipHostRegisterDefault));
    HIP_CALL(hipHostRegister(host_out, bytes, hipHostRegisterMapped));
    int *device_in = nullptr, *device_out = nullptr;
    HIP_CALL(hipHostGetDevicePointer(reinterpret_cast<void**>(&device_in), host_in, 0));
    HIP_CALL(hipHostGetDevicePointer(reinterpret_cast<void**>(&device_out), host_out, 0));
    LAUNCH(Reverse, (count + 255) / 256, 256, 0, nullptr, device_in, device_out, count);
    HIP_CALL(hipDeviceSynchronize());
    for (int i = 0; i < count; ++i) {
      CHECK(host_out[i] == host_in[count - 1 - i], "element %d is %d, wanted %d", i, host_out[i],
            host_in[count - 1 - i]);
    }
    int* device = program::NewDevice<int>(count);
    HIP_COPY(kH2D, bytes, hipMemcpyAsync(device, host_in, bytes, hipMemcpyHostToDevice, nullptr));
    HIP_COPY(kD2H, bytes, hipMemcpyAsync(host_out, device, bytes, hipMemcpyDeviceToHost, nullptr));
    HIP_CALL(hipStreamSynchronize(nullptr));
    CHECK(memcmp(host_in, host_out, bytes) == 0, "copies through registered memory differ");
    program::Free(device);
    HIP_CALL(hipHostUnregister(host_in));
    HIP_CALL(hipHostUnregister(host_out));
  }
  return program::Pass();
}
