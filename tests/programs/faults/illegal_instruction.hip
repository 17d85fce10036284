// SPDX-License-Identifier: MIT
//
// Executes a word that is no instruction on any target.

#include "fault.h"

__global__ void Illegal() { asm volatile(".long 0xffffffff"); }

int main() {
  program::Begin("illegal_instruction");
  LAUNCH_FAULTING(Illegal, 1, 64);
  return program::Report();
}
