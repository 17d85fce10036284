// SPDX-License-Identifier: MIT
//
// Prints what HIP says about the first GPU, beginning with the program's very first HIP call.

#include "../../programs/program.h"

int main() {
  hipDeviceProp_t properties;
  HIP_CALL(hipGetDeviceProperties(&properties, 0));
  printf("first: %d units, %d kHz, %zu bytes, %s\n", properties.multiProcessorCount,
         properties.clockRate, properties.totalGlobalMem, properties.name);
  HIP_CALL(hipGetDeviceProperties(&properties, 0));
  printf("then: %d units, %d kHz, %zu bytes, %s\n", properties.multiProcessorCount,
         properties.clockRate, properties.totalGlobalMem, properties.name);
  int units = 0;
  HIP_CALL(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, 0));
  printf("attribute: %d units\n", units);
  size_t bytes = 0;
  char name[256] = {};
  HIP_CALL(hipDeviceTotalMem(&bytes, 0));
  HIP_CALL(hipDeviceGetName(name, sizeof name, 0));
  printf("asked: %zu bytes, %s\n", bytes, name);
  return 0;
}
