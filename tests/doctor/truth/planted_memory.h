// SPDX-License-Identifier: MIT
//
// Memory for planted.hip: allocated, uploaded, and mapped beside other memory or apart from it. A
// HIP call that fails ends the program with 4.
#pragma once

#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <utility>
#include <vector>

namespace {

constexpr size_t kMebi = 1 << 20;
constexpr size_t kInts = kMebi / sizeof(int);  // in a mebibyte

void Check(hipError_t error, const char* call, int line) {
  if (error == hipSuccess) return;
  printf("line %d: %s gave %s\n", line, call, hipGetErrorName(error));
  fflush(stdout);
  _exit(4);
}
#define HIP(...) Check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

template <typename T>
T* Device(size_t bytes) {
  void* pointer = nullptr;
  HIP(hipMalloc(&pointer, bytes));
  HIP(hipMemset(pointer, 0, bytes));
  HIP(hipStreamSynchronize(nullptr));  // not for kernels that wait on other streams
  return static_cast<T*>(pointer);
}

template <typename T>
T* Upload(const std::vector<T>& values) {
  T* const pointer = Device<T>(values.size() * sizeof(T));
  HIP(hipMemcpy(pointer, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
  return pointer;
}

void Free(void* pointer) { HIP(hipFree(pointer)); }

// Virtual memory of the GPU at an address of our choice.
void Map(void* address, size_t bytes) {
  hipMemAllocationProp property{};
  property.type = hipMemAllocationTypePinned;
  property.location.type = hipMemLocationTypeDevice;
  hipMemGenericAllocationHandle_t handle{};
  HIP(hipMemCreate(&handle, bytes, &property, 0));
  HIP(hipMemMap(address, bytes, 0, handle, 0));
  hipMemAccessDesc access{};
  access.location = property.location;
  access.flags = hipMemAccessFlagsProtReadWrite;
  HIP(hipMemSetAccess(address, bytes, &access, 1));
}

char* Reserve(size_t bytes) {
  void* address = nullptr;
  HIP(hipMemAddressReserve(&address, bytes, 0, nullptr, 0));
  return static_cast<char*>(address);
}

// Memory with nothing mapped for 64 MiB before and after it. What is next to other memory depends
// on the machine.
template <typename T>
T* Apart(size_t bytes) {
  char* const space = Reserve(bytes + 128 * kMebi);
  Map(space + 64 * kMebi, bytes);
  return reinterpret_cast<T*>(space + 64 * kMebi);
}

// Memory, and memory that begins where the first ends.
std::pair<char*, char*> Adjacent() {
  char* const first = Reserve(4 * kMebi);
  Map(first, 2 * kMebi);
  Map(first + 2 * kMebi, 2 * kMebi);
  return {first, first + 2 * kMebi};
}

void FreeSecond(char* second) { HIP(hipMemUnmap(second, 2 * kMebi)); }

}  // namespace
