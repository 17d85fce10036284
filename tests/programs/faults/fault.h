// SPDX-License-Identifier: MIT
//
// What the programs in this folder share. Each makes the GPU fault in one way and reports what it
// was told; which answer is right depends on the ROCm release (expected.json) and is judged by
// run_faults.py. Some releases end the process in the middle of Report, which is an answer too.

#pragma once

#include "../program.h"

// Keeps the compiler from knowing where a pointer points to.
#define LAUNDER(pointer) asm volatile("" : "+v"(pointer))

// A launch whose kernel may fault before the launching call has returned: any error counts only in
// Report.
#define LAUNCH_FAULTING(kernel, grid, block, ...) \
  kernel<<<dim3(grid), dim3(block), 0, nullptr>>>(__VA_ARGS__)

namespace program {

// Waits for the kernel just launched and prints the error that comes back, and whether it stays:
//   fault call=hipDeviceSynchronize error=700 name=hipErrorIllegalAddress then=700
// Ends main: `return program::Report();`
inline int Report() {
  printf("launched %s\n", State().name.c_str());
  fflush(stdout);
  const hipError_t error = hipDeviceSynchronize();
  void* memory = nullptr;
  const hipError_t then = hipMalloc(&memory, 4096);
  printf("fault call=hipDeviceSynchronize error=%d name=%s then=%d\n", static_cast<int>(error),
         hipGetErrorName(error), static_cast<int>(then));
  fflush(stdout);
  return error == hipSuccess ? 1 : 0;
}

}  // namespace program
