// SPDX-License-Identifier: MIT
//
// A cooperative launch whose workgroups wait for each other several times (grid sync): every
// workgroup must be resident, and each phase must see all of the one before.

#include "program.h"

// Needs the runtime's header before it, in older releases.
#include <hip/hip_cooperative_groups.h>

__global__ void Phases(int* data, int count, int phases) {
  const auto grid = cooperative_groups::this_grid();
  const int i = static_cast<int>(grid.thread_rank());
  for (int phase = 0; phase < phases; ++phase) {
    const int* from = data + (phase % 2) * count;
    int* to = data + ((phase + 1) % 2) * count;
    to[i] = from[(i + 1) % count] + from[(i + count / 2) % count];
    grid.sync();
  }
}

int main() {
  program::Begin("cooperative_sync");
  int supported = 0;
  HIP_CALL(hipDeviceGetAttribute(&supported, hipDeviceAttributeCooperativeLaunch, 0));
  if (!supported) program::Skip("the device says it has no cooperative launch");
  const int blocks = 12, threads = 64;
  int count = blocks * threads, phases = 6;
  std::vector<int> want(2 * count);
  for (int i = 0; i < count; ++i) want[i] = i * 7 + 1;
  int* device = program::NewDevice(want);
  void* args[] = {&device, &count, &phases};
  LAUNCH_CALL(Phases, hipLaunchCooperativeKernel(reinterpret_cast<void*>(Phases), dim3(blocks),
                                                 dim3(threads), args, 0, nullptr));
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<int> got = program::Download(device, 2 * count);
  for (int phase = 0; phase < phases; ++phase) {
    const int* from = want.data() + (phase % 2) * count;
    int* to = want.data() + ((phase + 1) % 2) * count;
    for (int i = 0; i < count; ++i) to[i] = from[(i + 1) % count] + from[(i + count / 2) % count];
  }
  for (int i = 0; i < 2 * count; ++i)
    CHECK(got[i] == want[i], "element %d is %d, wanted %d", i, got[i], want[i]);
  program::Free(device);
  return program::Pass();
}
