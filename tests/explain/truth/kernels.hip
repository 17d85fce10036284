// SPDX-License-Identifier: MIT
//
// Kernels that use a GPU badly. kernels MODE
//   few_workgroups   a quarter as many workgroups as there are compute units
//   tail             a few workgroups more than the GPU holds at once
//   occupancy        workgroups that need nearly all LDS
//   dominating       one kernel takes most of the time
//   host_memory      kernels work on the host's memory
//   clean            enough workgroups, and two kernels that take the same time
#include "truth.h"

using namespace truth;

namespace {

__global__ void Large(BusyTimes* times, unsigned long long ticks, int* out) {
  __shared__ int room[15 * 1024];
  const unsigned long long begin = wall_clock64();
  for (int i = threadIdx.x; i < 15 * 1024; i += 8 * blockDim.x) room[i] = i;
  __syncthreads();
  if (threadIdx.x == 0 && atomicCAS(&times->begin, 0ull, begin) == 0)
    while (wall_clock64() - begin < ticks) {
    }
  if (room[threadIdx.x] < 0) *out = 1;
}

}  // namespace

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  BusyKernels gpu;
  int* memory = Allocate(1024);
  if (mode == "few_workgroups") {
    const int groups = gpu.units() / 4;
    for (int i = 0; i < 10; ++i) gpu.Launch<1>(50, nullptr, groups);
    CHECK(hipDeviceSynchronize());
    Truth::Finding("few-workgroups",
                   gpu.Milliseconds() * (1 - static_cast<double>(groups) / gpu.units()))
        .Print();
  } else if (mode == "tail") {
    int per_unit = 0;
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(
        &per_unit, reinterpret_cast<const void*>(&Busy<1>), 1024, 0));
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    const int at_once = per_unit * properties.multiProcessorCount;
    for (int i = 0; i < 6; ++i) gpu.Launch<1>(80, nullptr, at_once + at_once / 8, 1024);
    CHECK(hipDeviceSynchronize());
    const double rounds = 1 + 1.0 / 8;
    Truth::Finding("tail", gpu.Milliseconds() * (1 - rounds / 2)).Print();
  } else if (mode == "occupancy") {
    BusyTimes* times = Allocate<BusyTimes>(16);
    CHECK(hipMemset(times, 0, 16 * sizeof(BusyTimes)));
    int khz = 0;
    CHECK(hipDeviceGetAttribute(&khz, hipDeviceAttributeWallClockRate, 0));
    CHECK(hipDeviceSynchronize());
    const double from = NowMs();
    for (int i = 0; i < 8; ++i) Large<<<gpu.units(), 64>>>(times + i, 80ull * khz, memory);
    CHECK(hipDeviceSynchronize());
    Truth::Finding("low-occupancy", NowMs() - from).Add("what", "LDS").Print();
  } else if (mode == "dominating") {
    for (int i = 0; i < 9; ++i) {
      gpu.Launch<1>(80);
      gpu.Launch<2>(5);
    }
    CHECK(hipDeviceSynchronize());
    Truth::Finding("dominating-kernel", 9 * 80).Add("what", "Busy<1>").Print();
  } else if (mode == "host_memory") {
    int* host = nullptr;
    CHECK(hipHostMalloc(reinterpret_cast<void**>(&host), 16 << 20));
    for (int i = 0; i < 9; ++i) {
      gpu.Launch<1>(40);
      gpu.Launch<2>(40);
      Spin<1><<<gpu.units(), 64>>>(host, 10);
    }
    CHECK(hipDeviceSynchronize());
    Truth::Finding("host-memory", gpu.Milliseconds()).Print();
  } else {
    for (int i = 0; i < 9; ++i) {
      gpu.Launch<1>(40);
      gpu.Launch<2>(40);
    }
    CHECK(hipDeviceSynchronize());
    Truth().Add("busy_ms", gpu.Milliseconds()).Print();
  }
}
