// SPDX-License-Identifier: MIT
//
// Talk between the lanes of a wave: shuffles of 32 and 64 bits with and without a width, ballot,
// any and all, with all lanes on and inside a branch. Works for waves of 32 and of 64.

#include "program.h"

constexpr int kResults = 10;

__global__ void Shuffle(const int* in, long long* out) {
  const int lane = threadIdx.x;
  const int value = in[lane];
  const long long wide = (static_cast<long long>(value) << 33) ^ value;
  long long* mine = out + lane * kResults;
  mine[0] = __shfl(value, 5);
  mine[1] = __shfl(value, (lane * 7 + 3) % warpSize);
  mine[2] = __shfl_up(value, 3);
  mine[3] = __shfl_down(value, 4, 16);
  mine[4] = __shfl_xor(value, 9);
  mine[5] = __shfl_xor(wide, 1);
  mine[6] = static_cast<long long>(__ballot(value % 3 == 0));
  mine[7] = __any(value == 1000003) * 2 + __all(value > -5);
  mine[8] = -1;
  mine[9] = -1;
  if (lane % 4 == 1) {
    mine[8] = static_cast<long long>(__ballot(lane % 8 == 1));
    mine[9] = __popcll(__ballot(1)) + __shfl(value, 1);
  }
}

int main() {
  program::Begin("shuffle_ballot");
  hipDeviceProp_t properties;
  HIP_CALL(hipGetDeviceProperties(&properties, 0));
  const int lanes = properties.warpSize;
  std::vector<int> in(lanes);
  for (int lane = 0; lane < lanes; ++lane) in[lane] = lane * lane * 17 + lane;
  in[lanes - 2] = 1000003;
  int* device_in = program::NewDevice(in);
  long long* device_out = program::NewDevice<long long>(lanes * kResults);
  LAUNCH(Shuffle, 1, lanes, 0, nullptr, device_in, device_out);
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<long long> out = program::Download(device_out, lanes * kResults);

  long long thirds = 0, eighths = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    if (in[lane] % 3 == 0) thirds |= 1ll << lane;
    if (lane % 8 == 1) eighths |= 1ll << lane;
  }
  for (int lane = 0; lane < lanes; ++lane) {
    const int partner = in[lane ^ 1];
    const bool branch = lane % 4 == 1;
    const long long want[kResults] = {in[5],
                                      in[(lane * 7 + 3) % lanes],
                                      lane >= 3 ? in[lane - 3] : in[lane],
                                      lane % 16 + 4 < 16 ? in[lane + 4] : in[lane],
                                      in[lane ^ 9],
                                      (static_cast<long long>(partner) << 33) ^ partner,
                                      thirds,
                                      3,
                                      branch ? eighths : -1,
                                      branch ? lanes / 4 + in[1] : -1};
    for (int r = 0; r < kResults; ++r) {
      CHECK(out[lane * kResults + r] == want[r], "result %d of lane %d is %llx, wanted %llx", r,
            lane, out[lane * kResults + r], want[r]);
    }
  }
  program::Free(device_in);
  program::Free(device_out);
  return program::Pass();
}
