// SPDX-License-Identifier: MIT
//
// Many builds of kernels.hip's gemm: with tiles in LDS or without (TILES), tiles that are padded
// (PAD), inner loops that are unrolled (UNROLL), and one value that makes it wrong.
#define GLOBAL __attribute__((global))
#define SHARED __attribute__((shared))
enum { kTile = 16 };
#ifndef PAD
#define PAD 0
#endif
#ifndef SKIP
#define SKIP 0
#endif

extern "C" GLOBAL void gemm(const float* a, const float* b, float* c, int size) {
  const int item = __builtin_amdgcn_workitem_id_x(), group = __builtin_amdgcn_workgroup_id_x();
  const int x = item % kTile, y = item / kTile, tiles = size / kTile;
  const int column = group % tiles * kTile + x, row = group / tiles * kTile + y;
  float sum = 0;
#if TILES
  SHARED float left[kTile][kTile + PAD], right[kTile][kTile + PAD];
  for (int k = 0; k < size; k += kTile) {
    left[y][x] = a[row * size + k + x];
    right[y][x] = b[(k + y) * size + column];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#pragma unroll UNROLL
    for (int i = SKIP; i < kTile; ++i) sum = __builtin_fmaf(left[y][i], right[i][x], sum);
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  }
#else
#pragma unroll UNROLL
  for (int k = SKIP; k < size; ++k)
    sum = __builtin_fmaf(a[row * size + k], b[k * size + column], sum);
#endif
  c[row * size + column] = sum;
}
