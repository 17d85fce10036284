// SPDX-License-Identifier: MIT
//
// What the runtime knows about a pointer: kind of memory, device, base and size, for device,
// pinned, registered, managed and plain host memory, and for a pointer into the middle.

#include "program.h"

namespace {

// The field was called memoryType until ROCm 6.
template <typename Attributes>
auto Kind(const Attributes& attributes, int) -> decltype(static_cast<int>(attributes.type)) {
  return static_cast<int>(attributes.type);
}
template <typename Attributes>
int Kind(const Attributes& attributes, long) {
  return static_cast<int>(attributes.memoryType);
}

void ExpectKind(const char* what, const void* pointer, int kind) {
  hipPointerAttribute_t attributes = {};
  HIP_CALL(hipPointerGetAttributes(&attributes, pointer));
  CHECK(Kind(attributes, 0) == kind, "%s memory is of kind %d, wanted %d", what,
        Kind(attributes, 0), kind);
  CHECK(attributes.device == 0, "%s memory is on device %d", what, attributes.device);
}

}  // namespace

int main() {
  program::Begin("pointer_attributes");
  const size_t bytes = 100000;
  char* device = program::NewDevice<char>(bytes);
  char* pinned = nullptr;
  HIP_CALL(hipHostMalloc(&pinned, bytes, hipHostMallocDefault));
  std::vector<char> own(bytes);
  HIP_CALL(hipHostRegister(own.data(), bytes, hipHostRegisterDefault));
  ExpectKind("device", device, hipMemoryTypeDevice);
  ExpectKind("device", device + 777, hipMemoryTypeDevice);
  ExpectKind("pinned", pinned, hipMemoryTypeHost);
  ExpectKind("pinned", pinned + bytes - 1, hipMemoryTypeHost);
  ExpectKind("registered", own.data(), hipMemoryTypeHost);
  char* managed = nullptr;
  HIP_CALL(hipMallocManaged(&managed, bytes));
  hipPointerAttribute_t attributes = {};
  HIP_CALL(hipPointerGetAttributes(&attributes, managed));
  CHECK(attributes.isManaged, "managed memory is not said to be managed");

  hipDeviceptr_t base = {};
  size_t size = 0;
  HIP_CALL(hipMemGetAddressRange(&base, &size, reinterpret_cast<hipDeviceptr_t>(device + 5000)));
  CHECK(reinterpret_cast<char*>(base) == device && size == bytes,
        "the range is %p + %zu, wanted %p + %zu", reinterpret_cast<void*>(base), size,
        static_cast<void*>(device), bytes);
  unsigned flags = 0;
  HIP_CALL(hipHostGetFlags(&flags, pinned));
  void* seen_by_device = nullptr;
  HIP_CALL(hipHostGetDevicePointer(&seen_by_device, pinned, 0));
  CHECK(seen_by_device != nullptr, "pinned memory has no device pointer");
  HIP_CALL(hipHostUnregister(own.data()));
  HIP_CALL(hipHostFree(pinned));
  program::Free(device);
  program::Free(managed);
  return program::Pass();
}
