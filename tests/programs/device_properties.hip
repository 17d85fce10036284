// SPDX-License-Identifier: MIT
//
// What the runtime says about the device: printed, checked for sense and against the attributes,
// and the wave size against what the kernel itself sees.

#include "program.h"

// An intrinsic where the compiler has it; the constant before it is deprecated since.
#if __clang_major__ >= 18
#define WAVE_SIZE __builtin_amdgcn_wavefrontsize()
#else
#define WAVE_SIZE __AMDGCN_WAVEFRONT_SIZE
#endif

__global__ void WaveFacts(int* out) {
  if (threadIdx.x == 0) out[0] = WAVE_SIZE;
  if (threadIdx.x == 0) out[1] = warpSize;
  atomicMax(&out[2], static_cast<int>(__lane_id()));
  atomicAdd(&out[3], __lane_id() == 0 ? 1 : 0);
}

int main() {
  program::Begin("device_properties");
  int devices = 0;
  HIP_CALL(hipGetDeviceCount(&devices));
  CHECK(devices > 0, "no device");
  for (int device = 0; device < devices; ++device) {
    HIP_CALL(hipSetDevice(device));
    hipDeviceProp_t properties;
    HIP_CALL(hipGetDeviceProperties(&properties, device));
    char name[256] = {};
    HIP_CALL(hipDeviceGetName(name, sizeof(name), device));
    printf(
        "device %d: name=\"%s\" gcnArchName=%s multiProcessorCount=%d warpSize=%d "
        "totalGlobalMem=%zu\n",
        device, name, properties.gcnArchName, properties.multiProcessorCount, properties.warpSize,
        properties.totalGlobalMem);
    CHECK(strncmp(properties.gcnArchName, "gfx", 3) == 0, "gcnArchName is \"%s\"",
          properties.gcnArchName);
    CHECK(properties.multiProcessorCount > 0, "multiProcessorCount is %d",
          properties.multiProcessorCount);
    CHECK(properties.totalGlobalMem >= 1 << 28, "only %zu bytes of memory",
          properties.totalGlobalMem);
    CHECK(properties.sharedMemPerBlock >= 32768 && properties.maxThreadsPerBlock == 1024 &&
              properties.clockRate > 0,
          "LDS %zu, threads per block %d, clock %d", properties.sharedMemPerBlock,
          properties.maxThreadsPerBlock, properties.clockRate);
    const bool wide = strncmp(properties.gcnArchName, "gfx9", 4) == 0;
    CHECK(properties.warpSize == (wide ? 64 : 32), "warpSize is %d on %s", properties.warpSize,
          properties.gcnArchName);
    const std::pair<hipDeviceAttribute_t, int> attributes[] = {
        {hipDeviceAttributeWarpSize, properties.warpSize},
        {hipDeviceAttributeMultiprocessorCount, properties.multiProcessorCount},
        {hipDeviceAttributeMaxThreadsPerBlock, properties.maxThreadsPerBlock}};
    for (const auto& attribute : attributes) {
      int value = 0;
      HIP_CALL(hipDeviceGetAttribute(&value, attribute.first, device));
      CHECK(value == attribute.second, "attribute %d is %d, the property says %d", attribute.first,
            value, attribute.second);
    }
    size_t free_bytes = 0, total_bytes = 0;
    HIP_CALL(hipMemGetInfo(&free_bytes, &total_bytes));
    CHECK(free_bytes > 0 && free_bytes <= total_bytes, "%zu of %zu bytes free", free_bytes,
          total_bytes);
    int driver = 0, runtime = 0;
    HIP_CALL(hipDriverGetVersion(&driver));
    HIP_CALL(hipRuntimeGetVersion(&runtime));
    CHECK(driver > 0 && runtime > 0, "versions %d and %d", driver, runtime);

    int* out = program::NewDevice(std::vector<int>(4, 0));
    LAUNCH(WaveFacts, 1, 256, 0, nullptr, out);
    HIP_CALL(hipDeviceSynchronize());
    const std::vector<int> got = program::Download(out, 4);
    CHECK(got[0] == properties.warpSize && got[1] == properties.warpSize,
          "the kernel sees waves of %d and %d, not %d", got[0], got[1], properties.warpSize);
    CHECK(got[2] == properties.warpSize - 1 && got[3] == 256 / properties.warpSize,
          "highest lane %d, %d waves in 256 threads", got[2], got[3]);
    program::Free(out);
  }
  return program::Pass();
}
