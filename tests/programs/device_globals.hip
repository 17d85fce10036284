// SPDX-License-Identifier: MIT
//
// __device__ and __constant__ variables: initial values, writes by the host and by kernels, parts
// of an array, asynchronous copies, addresses and sizes.

#include "program.h"

__device__ int counters[16] = {5, 6, 7};
__device__ double offset = 2.5;
__constant__ float coefficients[8] = {1, 2, 3, 4};
__constant__ int table_size;

__global__ void Evaluate(const float* x, double* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  double sum = offset;
  for (int k = table_size - 1; k >= 0; --k) sum = sum * x[i] + coefficients[k];
  out[i] = sum;
  atomicAdd(&counters[i % 16], 1);
}

int main() {
  program::Begin("device_globals");
  const int count = 320;
  int counters_want[16] = {5, 6, 7};
  int got[16];
  HIP_COPY(kD2H, sizeof(got),
           hipMemcpyFromSymbol(got, HIP_SYMBOL(counters), sizeof(got), 0, hipMemcpyDeviceToHost));
  CHECK(memcmp(got, counters_want, sizeof(got)) == 0, "the initial values are wrong");

  const float second_half[4] = {-1, -2, 0.5f, 0.25f};
  HIP_COPY(kH2D, sizeof(second_half),
           hipMemcpyToSymbol(HIP_SYMBOL(coefficients), second_half, sizeof(second_half),
                             4 * sizeof(float), hipMemcpyHostToDevice));
  const int size = 8;
  HIP_COPY(
      kH2D, sizeof(size),
      hipMemcpyToSymbol(HIP_SYMBOL(table_size), &size, sizeof(size), 0, hipMemcpyHostToDevice));
  hipStream_t stream = nullptr;
  HIP_CALL(hipStreamCreate(&stream));
  const double new_offset = 1.0;
  HIP_COPY(kH2D, sizeof(double),
           hipMemcpyToSymbolAsync(HIP_SYMBOL(offset), &new_offset, sizeof(double), 0,
                                  hipMemcpyHostToDevice, stream));
  HIP_CALL(hipStreamSynchronize(stream));

  std::vector<float> x(count);
  for (int i = 0; i < count; ++i) x[i] = static_cast<float>(i % 9) - 4;
  float* device_x = program::NewDevice(x);
  double* device_out = program::NewDevice<double>(count);
  LAUNCH(Evaluate, count / 64, 64, 0, stream, device_x, device_out, count);
  HIP_COPY(kD2H, sizeof(got),
           hipMemcpyFromSymbolAsync(got, HIP_SYMBOL(counters), sizeof(got), 0,
                                    hipMemcpyDeviceToHost, stream));
  HIP_CALL(hipStreamSynchronize(stream));
  const std::vector<double> out = program::Download(device_out, count);
  const double coefficients_want[8] = {1, 2, 3, 4, -1, -2, 0.5, 0.25};
  for (int i = 0; i < count; ++i) {
    double want = new_offset;
    for (int k = 7; k >= 0; --k) want = want * x[i] + coefficients_want[k];
    CHECK(out[i] == want, "polynomial at %g gave %g, wanted %g", x[i], out[i], want);
  }
  for (int k = 0; k < 16; ++k) {
    CHECK(got[k] == counters_want[k] + count / 16, "counter %d is %d, wanted %d", k, got[k],
          counters_want[k] + count / 16);
  }

  void* address = nullptr;
  size_t bytes = 0;
  HIP_CALL(hipGetSymbolAddress(&address, HIP_SYMBOL(counters)));
  HIP_CALL(hipGetSymbolSize(&bytes, HIP_SYMBOL(counters)));
  CHECK(bytes == sizeof(got), "the symbol's size is %zu, wanted %zu", bytes, sizeof(got));
  HIP_MEMSET(bytes, hipMemset(address, 0, bytes));
  HIP_COPY(kD2H, sizeof(got), hipMemcpy(got, address, sizeof(got), hipMemcpyDeviceToHost));
  for (int k = 0; k < 16; ++k) CHECK(got[k] == 0, "counter %d is %d after the fill", k, got[k]);
  HIP_CALL(hipStreamDestroy(stream));
  program::Free(device_x);
  program::Free(device_out);
  return program::Pass();
}
