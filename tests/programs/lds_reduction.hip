// SPDX-License-Identifier: MIT
//
// A tree reduction in LDS with a barrier at every step, for workgroups that are and that are not a
// whole number of waves.

#include "program.h"

template <int kThreads>
__global__ void Reduce(const int* in, int count, long long* sums, int* maxima) {
  __shared__ long long sum[kThreads];
  __shared__ int maximum[kThreads];
  long long my_sum = 0;
  int my_maximum = -2147483647;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
    my_sum += in[i];
    if (in[i] > my_maximum) my_maximum = in[i];
  }
  sum[threadIdx.x] = my_sum;
  maximum[threadIdx.x] = my_maximum;
  __syncthreads();
  for (int left = kThreads; left > 1;) {
    const int half = (left + 1) / 2;
    const int partner = threadIdx.x + half;
    if (partner < left) {
      sum[threadIdx.x] += sum[partner];
      if (maximum[partner] > maximum[threadIdx.x]) maximum[threadIdx.x] = maximum[partner];
    }
    left = half;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum[0];
    maxima[blockIdx.x] = maximum[0];
  }
}

namespace {

template <int kThreads>
void Run(const std::vector<int>& in, int blocks) {
  int* device_in = program::NewDevice(in);
  long long* device_sums = program::NewDevice<long long>(blocks);
  int* device_maxima = program::NewDevice<int>(blocks);
  LAUNCH(Reduce<kThreads>, blocks, kThreads, 0, nullptr, device_in, static_cast<int>(in.size()),
         device_sums, device_maxima);
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<long long> sums = program::Download(device_sums, blocks);
  const std::vector<int> maxima = program::Download(device_maxima, blocks);
  for (int block = 0; block < blocks; ++block) {
    long long sum = 0;
    int maximum = -2147483647;
    for (size_t i = 0; i < in.size(); ++i) {
      if (static_cast<int>(i / kThreads % blocks) != block) continue;
      sum += in[i];
      if (in[i] > maximum) maximum = in[i];
    }
    CHECK(sums[block] == sum, "block %d of %d threads: sum %lld, wanted %lld", block, kThreads,
          sums[block], sum);
    CHECK(maxima[block] == maximum, "block %d of %d threads: maximum %d, wanted %d", block,
          kThreads, maxima[block], maximum);
  }
  program::Free(device_in);
  program::Free(device_sums);
  program::Free(device_maxima);
}

}  // namespace

int main() {
  program::Begin("lds_reduction");
  program::Random random(11);
  std::vector<int> in(20011);
  for (auto& value : in) value = static_cast<int>(random.Next());
  Run<256>(in, 16);
  Run<1024>(in, 3);
  Run<200>(in, 5);
  Run<33>(in, 7);
  return program::Pass();
}
