// SPDX-License-Identifier: MIT
//
// Virtual memory management: an address range reserved, two pieces of memory created and mapped
// side by side, access granted, used by one kernel across the seam, exported and imported as a file
// descriptor, mapped a second time, and all given back.

#include "program.h"

__global__ void Ramp(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = i * 11;
}

int main() {
  program::Begin("virtual_memory");
  int supported = 0;
  HIP_CALL(
      hipDeviceGetAttribute(&supported, hipDeviceAttributeVirtualMemoryManagementSupported, 0));
  if (!supported) program::Skip("the device says it has no virtual memory management");
  hipMemAllocationProp properties = {};
  properties.type = hipMemAllocationTypePinned;
  properties.requestedHandleType = hipMemHandleTypePosixFileDescriptor;
  properties.location.type = hipMemLocationTypeDevice;
  properties.location.id = 0;
  size_t granularity = 0;
  HIP_CALL(hipMemGetAllocationGranularity(&granularity, &properties,
                                          hipMemAllocationGranularityMinimum));
  CHECK(granularity >= 4096 && granularity % 4096 == 0, "the granularity is %zu", granularity);
  const size_t piece = (65536 + granularity - 1) / granularity * granularity;

  void* range = nullptr;
  HIP_CALL(hipMemAddressReserve(&range, 3 * piece, 0, nullptr, 0));
  hipMemGenericAllocationHandle_t handles[2];
  for (int i = 0; i < 2; ++i) {
    HIP_CALL(hipMemCreate(&handles[i], piece, &properties, 0));
    HIP_CALL(hipMemMap(static_cast<char*>(range) + i * piece, piece, 0, handles[i], 0));
  }
  hipMemAccessDesc access = {};
  access.location = properties.location;
  access.flags = hipMemAccessFlagsProtReadWrite;
  HIP_CALL(hipMemSetAccess(range, 2 * piece, &access, 1));
  unsigned long long flags = 0;
  HIP_CALL(hipMemGetAccess(&flags, &properties.location, range));
  CHECK(flags == hipMemAccessFlagsProtReadWrite, "the access flags are %llu", flags);

  const int count = static_cast<int>(2 * piece / sizeof(int));
  const int touched = static_cast<int>(piece / sizeof(int)) + 5000;  // across the seam
  int* data = static_cast<int*>(range);
  HIP_MEMSET(2 * piece, hipMemset(data, 0xFF, 2 * piece));
  LAUNCH(Ramp, (touched + 255) / 256, 256, 0, nullptr, data, touched);
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<int> got = program::Download(data, count);
  for (int i = 0; i < count; ++i) {
    const int want = i < touched ? i * 11 : -1;
    CHECK(got[i] == want, "element %d is %d, wanted %d", i, got[i], want);
  }

  int descriptor = -1;
  HIP_CALL(hipMemExportToShareableHandle(&descriptor, handles[1],
                                         hipMemHandleTypePosixFileDescriptor, 0));
  CHECK(descriptor >= 0, "the exported descriptor is %d", descriptor);
#if HIP_VERSION_MAJOR >= 7
  void* os_handle = reinterpret_cast<void*>(static_cast<intptr_t>(descriptor));
#else
  void* os_handle = &descriptor;  // HIP 6.4 reads the descriptor through the pointer
#endif
  hipMemGenericAllocationHandle_t imported;
  HIP_CALL(
      hipMemImportFromShareableHandle(&imported, os_handle, hipMemHandleTypePosixFileDescriptor));
  char* again = static_cast<char*>(range) + 2 * piece;
  HIP_CALL(hipMemMap(again, piece, 0, imported, 0));
  HIP_CALL(hipMemSetAccess(again, piece, &access, 1));
  const std::vector<int> seen = program::Download(reinterpret_cast<int*>(again), 5000);
  for (int i = 0; i < 5000; ++i) {
    const int want = static_cast<int>(piece / sizeof(int) + i) * 11;
    CHECK(seen[i] == want, "through the import, element %d is %d, wanted %d", i, seen[i], want);
  }
  HIP_CALL(hipMemUnmap(again, piece));
  HIP_CALL(hipMemRelease(imported));
  close(descriptor);
  for (int i = 0; i < 2; ++i) {
    HIP_CALL(hipMemUnmap(static_cast<char*>(range) + i * piece, piece));
    HIP_CALL(hipMemRelease(handles[i]));
  }
  HIP_CALL(hipMemAddressFree(range, 3 * piece));
  return program::Pass();
}
