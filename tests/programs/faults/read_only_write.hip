// SPDX-License-Identifier: MIT
//
// Writes to memory that is mapped for reading only.

#include "fault.h"

__global__ void Increment(int* data) { data[threadIdx.x] += 1; }

int main() {
  program::Begin("read_only_write");
  hipMemAllocationProp properties = {};
  properties.type = hipMemAllocationTypePinned;
  properties.location.type = hipMemLocationTypeDevice;
  properties.location.id = 0;
  size_t bytes = 0;
  HIP_CALL(
      hipMemGetAllocationGranularity(&bytes, &properties, hipMemAllocationGranularityRecommended));
  void* range = nullptr;
  hipMemGenericAllocationHandle_t handle;
  HIP_CALL(hipMemAddressReserve(&range, bytes, 0, nullptr, 0));
  HIP_CALL(hipMemCreate(&handle, bytes, &properties, 0));
  HIP_CALL(hipMemMap(range, bytes, 0, handle, 0));
  hipMemAccessDesc access = {};
  access.location = properties.location;
  access.flags = hipMemAccessFlagsProtRead;
  HIP_CALL(hipMemSetAccess(range, bytes, &access, 1));
  LAUNCH(Increment, 1, 64, 0, nullptr, static_cast<int*>(range));
  return program::Report();
}
