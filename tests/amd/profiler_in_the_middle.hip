// SPDX-License-Identifier: MIT
//
// A program that brings its own profiler and loads it in the middle, as PyTorch does when its
// profiler is switched on: work, then dlopen, then work.
//
//   profiler_in_the_middle LIBRARY global|local|force
#include <dlfcn.h>

#include "../programs/program.h"

__global__ void AddOne(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] += 1;
}

namespace {

void Work(int rounds) {
  constexpr int kCount = 1000;
  std::vector<int> data(kCount, 5);
  int* device = program::NewDevice(data);
  for (int i = 0; i < rounds; ++i)
    LAUNCH(AddOne, (kCount + 63) / 64, 64, 0, nullptr, device, kCount);
  HIP_CALL(hipDeviceSynchronize());
  for (const int value : program::Download(device, kCount))
    CHECK(value == 5 + rounds, "it is %d", value);
  program::Free(device);
}

}  // namespace

int main(int argc, char** argv) {
  program::Begin("profiler_in_the_middle");
  CHECK(argc == 3, "two arguments are wanted");
  const std::string mode = argv[2];
  Work(3);
  void* const library = dlopen(argv[1], RTLD_LAZY | (mode == "local" ? RTLD_LOCAL : RTLD_GLOBAL));
  CHECK(library != nullptr, "%s", dlerror());
  if (mode == "force") {
    using Configure = int (*)();
    auto* const configure =
        reinterpret_cast<Configure>(dlsym(library, "neighbour_force_configure"));
    CHECK(configure != nullptr, "no neighbour_force_configure");
    configure();
  }
  Work(4);
  return program::Pass();
}
