// SPDX-License-Identifier: MIT
//
// Was a difference on gfx1100: seed 14, shrunk.
// level: O3
#include "harness.h"

using namespace harness;
using namespace lanes;

HD void Body0(const Args& args, Lds& lds, u32 thread, u32 group) {
  const u32 all = group * args.group_size + thread;
  u8* const mine = args.memory + all * 128;
  u64 kept = 0;
  u32 v0 = Input<u32>(args, all * 1 + 0);
  u64 v1 = Input<u64>(args, all * 3 + 31);
  f64 v2 = Input<f64>(args, all * 5 + 62);
  f16 v3 = Input<f16>(args, all * 7 + 93);
  i32 v4 = Input<i32>(args, all * 9 + 124);
  f32 v5 = Input<f32>(args, all * 11 + 155);
  f16 s0 = Input<f16>(args, group + 5);
  f32 s1 = Number<f32>(args, 1);
  f32 s2 = Number<f32>(args, 2);
  lds.own[thread] = all * 5;
  if (thread == 0)
    for (int i = 0; i < kCells; ++i) lds.u32s[i] = 7 + i, lds.u64s[i] = 9 + i;
  Barrier();
  Barrier();
  StoreVector<i16, 8, false>(lds.bytes + thread * 16, Bits<i16>(f16(v3)), i16(1));
  Barrier();
  Keep<6>(kept, LoadVector<i16, 8, false>(lds.bytes + (u32(1) % args.group_size) * 16));
  Barrier();
  StoreVector<i64, 1, true>(lds.bytes + thread * 16, Bits<i64>(f64(v2)), i64(1));
  Barrier();
  Keep<61>(kept, LoadVector<i64, 1, true>(
                     lds.bytes +
                     (Convert<u32>(Fma<f16>(f16(v3), Input<f16>(args, all * 3 + 209), f16(v3))) %
                      args.group_size) *
                         16));
  Barrier();
  args.out[0 * args.threads + all] = kept;
  args.out[1 * args.threads + all] = Result(v0);
  args.out[2 * args.threads + all] = Result(v1);
  args.out[3 * args.threads + all] = Result(v2);
  args.out[4 * args.threads + all] = Result(v3);
  args.out[5 * args.threads + all] = Result(v4);
  args.out[6 * args.threads + all] = Result(v5);
  args.out[7 * args.threads + all] = Result(s0);
  args.out[8 * args.threads + all] = Result(s1);
  args.out[9 * args.threads + all] = Result(s2);
  args.out[10 * args.threads + all] = u64(lds.u32s[thread % kCells]);
  args.out[11 * args.threads + all] = lds.u64s[thread % kCells];
  args.out[12 * args.threads + all] = lds.own[thread];
}
KERNEL(0, 256)

KERNELS({"14", Model0, 2, {64, 4, 1}})
