// SPDX-License-Identifier: MIT
//
// Three-dimensional grids whose size is no multiple of the workgroup: once as whole workgroups with
// a guard in the kernel, once by hipExtModuleLaunchKernel, which takes the exact number of work
// items and so makes the workgroups at the edges smaller. Every cell must be hit exactly once,
// nothing outside.

#include <hip/hip_ext.h>

#include "program.h"

__global__ void MarkGuarded(unsigned* hits, int size_x, int size_y, int size_z) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < size_x && y < size_y && z < size_z) {
    atomicAdd(&hits[(z * size_y + y) * size_x + x], 1u + threadIdx.x);
  }
}

namespace {

struct Box {
  int x, y, z;
};

void Run(hipFunction_t partial, Box size, Box block) {
  const int cells = size.x * size.y * size.z, margin = 64;
  unsigned* hits = program::NewDevice<unsigned>(cells + margin);
  for (bool exact : {false, true}) {
    HIP_MEMSET((cells + margin) * sizeof(unsigned),
               hipMemset(hits, 0, (cells + margin) * sizeof(unsigned)));
    if (exact) {
      void* args[] = {&hits, &size.x, &size.y, &block.x, &block.y, &block.z};
      LAUNCH_CALL(MarkPartial, hipExtModuleLaunchKernel(partial, size.x, size.y, size.z, block.x,
                                                        block.y, block.z, 0, nullptr, args, nullptr,
                                                        nullptr, nullptr, 0));
    } else {
      const dim3 grid((size.x + block.x - 1) / block.x, (size.y + block.y - 1) / block.y,
                      (size.z + block.z - 1) / block.z);
      LAUNCH(MarkGuarded, grid, dim3(block.x, block.y, block.z), 0, nullptr, hits, size.x, size.y,
             size.z);
    }
    HIP_CALL(hipDeviceSynchronize());
    const std::vector<unsigned> got = program::Download(hits, cells + margin);
    for (int i = 0; i < cells + margin; ++i) {
      const unsigned want = i < cells ? 1 + i % size.x % block.x : 0;
      CHECK(got[i] == want, "%dx%dx%d by %dx%dx%d, %s: cell %d was hit %u, wanted %u", size.x,
            size.y, size.z, block.x, block.y, block.z, exact ? "exact" : "guarded", i, got[i],
            want);
    }
  }
  program::Free(hits);
}

}  // namespace

int main() {
  program::Begin("grid_3d_partial");
  hipModule_t module = nullptr;
  HIP_CALL(hipModuleLoad(&module, program::Sibling("kernels.co").c_str()));
  hipFunction_t partial = nullptr;
  HIP_CALL(hipModuleGetFunction(&partial, module, "MarkPartial"));
  Run(partial, {16, 8, 4}, {8, 4, 2});
  Run(partial, {19, 7, 5}, {8, 4, 2});
  Run(partial, {100, 1, 1}, {64, 1, 1});
  Run(partial, {3, 3, 3}, {4, 4, 4});
  Run(partial, {130, 5, 3}, {64, 2, 2});
  HIP_CALL(hipModuleUnload(module));
  return program::Pass();
}
