// SPDX-License-Identifier: MIT
//
// Kernels that use a GPU badly. kernels MODE [mended]
//   few_workgroups   a quarter as many workgroups as there are compute units
//   tail             a few workgroups more than the GPU holds at once
//   occupancy        workgroups that need nearly all LDS, more than fit at once
//   host_memory      kernels work on the host's memory
//   dominating       one kernel takes most of the time
//   clean            enough workgroups, and two kernels that take the same time
// The first four print how long their work took. With `mended` the same work is done without the
// fault: what the fault costs is the difference between the two runs.
#include "truth.h"

using namespace truth;

namespace {

// Every workgroup waits so long, as one does that computes on a unit of its own or waits for
// memory. The GPU runs as many at once as it has room for. The software GPU takes up to 0.1 ms to
// start a workgroup: the waits are so long that this is a small part of them.
template <int kLdsBytes>
__global__ void EachWaits(unsigned long long ticks, int* out) {
  __shared__ int room[kLdsBytes / 4];
  room[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (room[threadIdx.x] < 0) *out = 1;
  if (threadIdx.x != 0) return;
  const unsigned long long begin = wall_clock64();
  while (wall_clock64() - begin < ticks) __builtin_amdgcn_s_sleep(1);
}

constexpr int kSmallLds = 4096;  // an int for each of 1024 threads
constexpr int kLargeLds = 60 * 1024;

// Reads one line after the other, each of which takes so many ticks to come: the software GPU has
// no bus, and reads the host's memory as fast as its own.
template <int kName>
__global__ void ReadsLines(const int* from, int lines, unsigned long long ticks, int* out) {
  if (threadIdx.x != 0) return;
  int sum = kName;
  for (int i = 0; i < lines; ++i) {
    const unsigned long long begin = wall_clock64();
    sum += from[(blockIdx.x * lines + i) * 32];
    while (wall_clock64() - begin < ticks) __builtin_amdgcn_s_sleep(1);
  }
  out[blockIdx.x] = sum;
}

// Launches and waits, and prints how long that took.
template <typename Work>
void Measure(const char* rule, const Work& work, const char* what = nullptr) {
  CHECK(hipDeviceSynchronize());
  const double from = NowMs();
  work();
  CHECK(hipGetLastError());
  CHECK(hipDeviceSynchronize());
  Truth truth;
  truth.Add("rule", rule).Add("took_ms", NowMs() - from);
  if (what != nullptr) truth.Add("what", what);
  truth.Print();
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = arguments[1];
  const bool mended = count > 2;
  BusyKernels gpu;
  const auto ticks = [&](double ms) {
    return static_cast<unsigned long long>(ms * gpu.ticks_per_ms());
  };
  int* memory = Allocate(1024);
  if (mode == "few_workgroups") {
    const int parts = mended ? 1 : 4;
    Measure("few-workgroups", [&] {
      for (int i = 0; i < 3; ++i)
        EachWaits<kSmallLds><<<gpu.units() / parts, 64>>>(ticks(150 * parts), memory);
    });
  } else if (mode == "tail") {
    int per_unit = 0;
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(
        &per_unit, reinterpret_cast<const void*>(&EachWaits<kSmallLds>), 1024, 0));
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    const int at_once = per_unit * properties.multiProcessorCount;
    // Nine eighths of what fits; mended, the same work is divided among as many as fit.
    const int groups = mended ? at_once : at_once + at_once / 8;
    Measure("tail", [&] {
      for (int i = 0; i < 3; ++i)
        EachWaits<kSmallLds><<<groups, 1024>>>(ticks(mended ? 360 : 320), memory);
    });
  } else if (mode == "occupancy") {
    Measure(
        "low-occupancy",
        [&] {
          for (int i = 0; i < 5; ++i) {
            if (mended)
              EachWaits<kSmallLds><<<4 * gpu.units(), 64>>>(ticks(40), memory);
            else
              EachWaits<kLargeLds><<<4 * gpu.units(), 64>>>(ticks(40), memory);
            // No kernel is most of the time, which would be told first.
            gpu.Launch<1>(120);
            gpu.Launch<2>(120);
          }
        },
        "LDS");
  } else if (mode == "host_memory") {
    constexpr int kLines = 20;
    int* lines = nullptr;
    if (mended)
      lines = Allocate(4 << 20);
    else
      CHECK(hipHostMalloc(reinterpret_cast<void**>(&lines), 16 << 20));
    const double line_ms = mended ? 0 : 2;
    Measure("host-memory", [&] {
      for (int i = 0; i < 9; ++i) {
        ReadsLines<1><<<gpu.units(), 64>>>(lines, kLines, ticks(line_ms), memory);
        ReadsLines<2><<<gpu.units(), 64>>>(lines, kLines, ticks(line_ms), memory);
      }
    });
  } else if (mode == "dominating") {
    for (int i = 0; i < 9; ++i) {
      gpu.Launch<1>(80);
      gpu.Launch<2>(5);
    }
    CHECK(hipDeviceSynchronize());
    Truth::Finding("dominating-kernel", 9 * 80).Add("what", "Busy<1>").Print();
  } else {
    for (int i = 0; i < 9; ++i) {
      gpu.Launch<1>(40);
      gpu.Launch<2>(40);
    }
    CHECK(hipDeviceSynchronize());
    Truth().Add("busy_ms", gpu.Milliseconds()).Print();
  }
}
