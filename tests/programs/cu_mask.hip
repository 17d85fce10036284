// SPDX-License-Identifier: MIT
//
// A stream that may use only some multiprocessors: its kernels read where they run and are found on
// no more units than the mask has, while a stream without a mask spreads out.

#include <set>

#include "program.h"

namespace {

// What HIP calls a multiprocessor, as one number.
__device__ unsigned Place() {
#if defined(__gfx90a__)
  constexpr int kHwId = 4 | 31 << 11;
  return __builtin_amdgcn_s_getreg(kHwId) & 0xFF00;  // CU, SH, SE
#elif defined(__GFX9__)
  constexpr int kHwId = 4 | 31 << 11;
  constexpr int kXccId = 20 | 31 << 11;
  return (__builtin_amdgcn_s_getreg(kHwId) & 0xFF00) | (__builtin_amdgcn_s_getreg(kXccId) & 0xF)
                                                           << 16;
#else
  // A bit of HIP's mask is a workgroup processor, two units, where there are such.
  constexpr int kHwId1 = 23 | 31 << 11;
  return __builtin_amdgcn_s_getreg(kHwId1) & (0xF << 10 | 1 << 16 | 7 << 18);
#endif
}

__global__ void WhereAmI(unsigned* places) {
  if (threadIdx.x == 0) places[blockIdx.x] = Place();
}

constexpr unsigned kBlocks = 256;

size_t PlacesOf(hipStream_t stream) {
  unsigned* device = program::NewDevice<unsigned>(kBlocks);
  LAUNCH(WhereAmI, kBlocks, 64, 0, stream, device);
  HIP_CALL(hipStreamSynchronize(stream));
  const std::vector<unsigned> places = program::Download(device, kBlocks);
  program::Free(device);
  return std::set<unsigned>(places.begin(), places.end()).size();
}

}  // namespace

int main() {
  program::Begin("cu_mask");
  hipStream_t all = nullptr, some = nullptr;
  HIP_CALL(hipStreamCreate(&all));
  const uint32_t mask[] = {0xFF};
  HIP_CALL(hipExtStreamCreateWithCUMask(&some, 1, mask));
  const size_t everywhere = PlacesOf(all);
  const size_t masked = PlacesOf(some);
  CHECK(masked >= 1 && masked <= 8, "a mask of 8 multiprocessors used %zu", masked);
  CHECK(everywhere > 8, "without a mask, %u workgroups used %zu multiprocessors", kBlocks,
        everywhere);
  HIP_CALL(hipStreamDestroy(all));
  HIP_CALL(hipStreamDestroy(some));
  return program::Pass();
}
