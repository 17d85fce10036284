// SPDX-License-Identifier: MIT
//
// A second translation unit: its code object is after the first one's in a linked library.
#include <hip/hip_runtime.h>

extern "C" __global__ void second_file(int* out) { out[threadIdx.x] = 2; }
