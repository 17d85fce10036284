// SPDX-License-Identifier: MIT
//
// Movement between lanes by the instructions that libraries write by hand: DPP row shifts,
// rotations, mirrors and quad permutations with masks and bound control, ds_swizzle, ds_permute,
// ds_bpermute, readlane, readfirstlane, and a scan and a reduction built from them. Rows are 16
// lanes on every target; what goes across rows differs and is written per target.

#include "program.h"

constexpr int kResults = 14;

// dpp_ctrl values of the instruction set manuals.
constexpr int kQuadReverse = 0x1B, kRowShl = 0x100, kRowShr = 0x110, kRowRor = 0x120,
              kRowMirror = 0x140, kRowHalfMirror = 0x141;

template <int kControl, int kRowMask = 0xF, int kBankMask = 0xF, bool kBoundZero = false>
__device__ int Dpp(int old, int value) {
  return __builtin_amdgcn_update_dpp(old, value, kControl, kRowMask, kBankMask, kBoundZero);
}

// Inclusive sum over each row of 16.
__device__ int RowScan(int value) {
  value += Dpp<kRowShr + 1, 0xF, 0xF, true>(0, value);
  value += Dpp<kRowShr + 2, 0xF, 0xF, true>(0, value);
  value += Dpp<kRowShr + 4, 0xF, 0xF, true>(0, value);
  value += Dpp<kRowShr + 8, 0xF, 0xF, true>(0, value);
  return value;
}

__global__ void Moves(const int* in, int* out) {
  const int lane = threadIdx.x;
  const int value = in[lane];
  int* r = out + lane * kResults;
  r[0] = Dpp<kQuadReverse>(-1, value);
  r[1] = Dpp<kRowShl + 3>(-1, value);
  r[2] = Dpp<kRowShr + 5, 0xF, 0xF, true>(-1, value);
  r[3] = Dpp<kRowRor + 7>(-1, value);
  r[4] = Dpp<kRowMirror>(-1, value);
  r[5] = Dpp<kRowHalfMirror>(-1, value);
  r[6] = Dpp<kRowShr + 1, 0x1, 0x5>(-1, value);       // row 0 only, banks 0 and 2 only
  r[7] = __builtin_amdgcn_ds_swizzle(value, 0x041F);  // xor 1 in groups of 32
  r[8] = __builtin_amdgcn_ds_bpermute(((lane * 5 + 2) % warpSize) * 4, value);
  r[9] = __builtin_amdgcn_ds_permute(((lane * 3 + 1) % warpSize) * 4, value);
  r[10] = __builtin_amdgcn_readlane(value, 9) + __builtin_amdgcn_readfirstlane(value);
  const int scan = RowScan(value);
  r[11] = scan;
  // The wave's sum: the last lane of each row holds that row's.
  int sum = 0;
  for (int row = 0; row < warpSize / 16; ++row)
    sum += __builtin_amdgcn_readlane(scan, row * 16 + 15);
  r[12] = sum;
#if defined(__GFX9__)
  r[13] = Dpp<0x142>(-1, scan);  // row_bcast:15: each row gets the last lane of the row before
#else
  r[13] = __builtin_amdgcn_permlanex16(scan, scan, 0xFFFFFFFF, 0xFFFFFFFF, false,
                                       false);  // last of the other row
#endif
}

int main() {
  program::Begin("dpp_reduction");
  hipDeviceProp_t properties;
  HIP_CALL(hipGetDeviceProperties(&properties, 0));
  const int lanes = properties.warpSize;
  const bool gfx9 = strncmp(properties.gcnArchName, "gfx9", 4) == 0;
  std::vector<int> in(lanes);
  for (int lane = 0; lane < lanes; ++lane) in[lane] = lane * lane * 3 + 10;
  int* device_in = program::NewDevice(in);
  int* device_out = program::NewDevice<int>(lanes * kResults);
  LAUNCH(Moves, 1, lanes, 0, nullptr, device_in, device_out);
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<int> out = program::Download(device_out, lanes * kResults);

  std::vector<int> permuted(lanes), scan(lanes);
  int sum = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    permuted[(lane * 3 + 1) % lanes] = in[lane];
    scan[lane] = in[lane] + (lane % 16 ? scan[lane - 1] : 0);
    sum += in[lane];
  }
  for (int lane = 0; lane < lanes; ++lane) {
    const int at = lane % 16, row = lane - at;
    const bool chosen = row == 0 && (at / 4 == 0 || at / 4 == 2) && at >= 1;
    const int want[kResults] = {in[lane ^ 3],
                                at + 3 < 16 ? in[lane + 3] : -1,
                                at >= 5 ? in[lane - 5] : 0,
                                in[row + (at + 16 - 7) % 16],
                                in[row + 15 - at],
                                in[(lane & ~7) + 7 - lane % 8],
                                chosen ? in[lane - 1] : -1,
                                in[lane ^ 1],
                                in[(lane * 5 + 2) % lanes],
                                permuted[lane],
                                in[9] + in[0],
                                scan[lane],
                                sum,
                                gfx9 ? (row > 0 ? scan[row - 1] : -1) : scan[(row ^ 16) + 15]};
    for (int r = 0; r < kResults; ++r) {
      CHECK(out[lane * kResults + r] == want[r], "result %d of lane %d is %d, wanted %d", r, lane,
            out[lane * kResults + r], want[r]);
    }
  }
  program::Free(device_in);
  program::Free(device_out);
  return program::Pass();
}
