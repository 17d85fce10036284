// SPDX-License-Identifier: MIT
//
// Reads and writes through a null pointer.

#include "fault.h"

__global__ void Touch(int* pointer) { *pointer += 1; }

int main() {
  program::Begin("null_pointer");
  LAUNCH_FAULTING(Touch, 1, 64, nullptr);
  return program::Report();
}
