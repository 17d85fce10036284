// SPDX-License-Identifier: MIT
//
// Allocation in stream order: hipMallocAsync and hipFreeAsync on the default pool and on a pool of
// the program's own, with work in between and no synchronisation until the end.

#include "program.h"

__global__ void Fill(int* data, int count, int seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = i + seed;
}

__global__ void AddTo(const int* data, int* total, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) total[i] += data[i];
}

int main() {
  program::Begin("malloc_async");
  int supported = 0;
  HIP_CALL(hipDeviceGetAttribute(&supported, hipDeviceAttributeMemoryPoolsSupported, 0));
  if (!supported) program::Skip("the device says it has no memory pools");
  const int count = 3000, rounds = 20, blocks = (count + 127) / 128;
  const size_t bytes = count * sizeof(int);
  hipMemPool_t pool = nullptr, default_pool = nullptr;
  hipMemPoolProps pool_properties = {};
  pool_properties.allocType = hipMemAllocationTypePinned;
  pool_properties.location.type = hipMemLocationTypeDevice;
  pool_properties.location.id = 0;
  HIP_CALL(hipMemPoolCreate(&pool, &pool_properties));
  uint64_t keep = 1 << 20;
  HIP_CALL(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &keep));
  uint64_t kept = 0;
  HIP_CALL(hipMemPoolGetAttribute(pool, hipMemPoolAttrReleaseThreshold, &kept));
  CHECK(kept == keep, "the release threshold is %llu, wanted %llu",
        static_cast<unsigned long long>(kept), static_cast<unsigned long long>(keep));
  HIP_CALL(hipDeviceGetDefaultMemPool(&default_pool, 0));
  CHECK(default_pool != nullptr && default_pool != pool, "no default pool");

  hipStream_t stream = nullptr;
  HIP_CALL(hipStreamCreate(&stream));
  int* total = nullptr;
  HIP_CALL(hipMallocAsync(reinterpret_cast<void**>(&total), bytes, stream));
  HIP_MEMSET(bytes, hipMemsetAsync(total, 0, bytes, stream));
  for (int round = 0; round < rounds; ++round) {
    int* data = nullptr;
    if (round % 2 == 0) {
      HIP_CALL(hipMallocAsync(reinterpret_cast<void**>(&data), bytes, stream));
    } else {
      HIP_CALL(hipMallocFromPoolAsync(reinterpret_cast<void**>(&data), bytes, pool, stream));
    }
    LAUNCH(Fill, blocks, 128, 0, stream, data, count, round);
    LAUNCH(AddTo, blocks, 128, 0, stream, data, total, count);
    HIP_CALL(hipFreeAsync(data, stream));
  }
  std::vector<int> got(count);
  HIP_COPY(kD2H, bytes, hipMemcpyAsync(got.data(), total, bytes, hipMemcpyDeviceToHost, stream));
  HIP_CALL(hipFreeAsync(total, stream));
  HIP_CALL(hipStreamSynchronize(stream));
  for (int i = 0; i < count; ++i) {
    const int want = i * rounds + rounds * (rounds - 1) / 2;
    CHECK(got[i] == want, "element %d is %d, wanted %d", i, got[i], want);
  }
  HIP_CALL(hipMemPoolTrimTo(pool, 0));
  HIP_CALL(hipMemPoolDestroy(pool));
  HIP_CALL(hipStreamDestroy(stream));
  return program::Pass();
}
