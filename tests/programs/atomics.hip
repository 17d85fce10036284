// SPDX-License-Identifier: MIT
//
// Atomic operations of every kind on global memory, LDS and host memory: 32 and 64 bits, float and
// double, a lock made of compare-and-swap, and system scope seen by the host.

#include "program.h"

struct Totals {
  int add, sub, smallest, largest, exchanged, cas;
  unsigned ands, ors, xors, inc, dec, shared;
  float float_add;
  double double_add;
  unsigned long long wide_add, wide_max, wide_min;
  int lock, guarded;
};

__global__ void Atomics(Totals* totals, int* system_counter) {
  __shared__ unsigned shared;
  if (threadIdx.x == 0) shared = 0;
  __syncthreads();
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&totals->add, id);
  atomicSub(&totals->sub, 2);
  atomicMin(&totals->smallest, -id * 3);
  atomicMax(&totals->largest, id * 5);
  atomicAnd(&totals->ands, ~(1u << (id % 7)));
  atomicOr(&totals->ors, 1u << (id % 11));
  atomicXor(&totals->xors, id);
  atomicInc(&totals->inc, 99);
  atomicDec(&totals->dec, 76);
  atomicExch(&totals->exchanged, id % 2 == 0 ? 123 : 321);
  atomicAdd(&totals->float_add, 0.5f);
  atomicAdd(&totals->double_add, 0.25);
  atomicAdd(&totals->wide_add, (1ull << 32) + id);
  atomicMax(&totals->wide_max, 1ull << (id % 50));
  atomicMin(&totals->wide_min, 1ull << (50 - id % 40));
  int seen = totals->cas;
  for (;;) {
    const int before =
        atomicCAS(&totals->cas, seen, seen * 3 + 1 > 100000 ? seen - 99000 : seen * 3 + 1);
    if (before == seen) break;
    seen = before;
  }
  atomicAdd(&shared, threadIdx.x);
  atomicAdd_system(system_counter, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&totals->shared, shared);
    // One thread per workgroup takes the lock, so nobody waits for a lane of its own wave.
    while (atomicCAS(&totals->lock, 0, 1) != 0) {
    }
    __threadfence();
    totals->guarded =
        __hip_atomic_load(&totals->guarded, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) + 1;
    __threadfence();
    atomicExch(&totals->lock, 0);
  }
}

int main() {
  program::Begin("atomics");
  const int blocks = 12, threads = 128, all = blocks * threads;
  std::vector<Totals> start(1);
  memset(&start[0], 0, sizeof(Totals));
  start[0].ands = 0xFFFFFFFF;
  start[0].dec = 5;
  start[0].cas = 1;
  start[0].wide_min = ~0ull;
  Totals* device = program::NewDevice(start);
  int* system_counter = nullptr;
  HIP_CALL(hipHostMalloc(&system_counter, sizeof(int), hipHostMallocCoherent));
  *system_counter = 40;
  LAUNCH(Atomics, blocks, threads, 0, nullptr, device, system_counter);
  HIP_CALL(hipDeviceSynchronize());
  const Totals got = program::Download(device, 1)[0];

  int cas = 1;
  unsigned xors = 0, inc = 0, dec = 5;
  for (int id = 0; id < all; ++id) {
    cas = cas * 3 + 1 > 100000 ? cas - 99000 : cas * 3 + 1;
    xors ^= id;
    inc = inc >= 99 ? 0 : inc + 1;
    dec = dec == 0 || dec > 76 ? 76 : dec - 1;
  }
  const unsigned long long ids = static_cast<unsigned long long>(all) * (all - 1) / 2;
  CHECK(got.add == static_cast<int>(ids), "add %d", got.add);
  CHECK(got.sub == -2 * all, "sub %d", got.sub);
  CHECK(got.smallest == -(all - 1) * 3 && got.largest == (all - 1) * 5, "min %d max %d",
        got.smallest, got.largest);
  CHECK(got.ands == 0xFFFFFF80 && got.ors == 0x7FF && got.xors == xors, "and %x or %x xor %x",
        got.ands, got.ors, got.xors);
  CHECK(got.inc == inc && got.dec == dec, "inc %u (wanted %u) dec %u (wanted %u)", got.inc, inc,
        got.dec, dec);
  CHECK(got.exchanged == 123 || got.exchanged == 321, "exchange %d", got.exchanged);
  CHECK(got.float_add == all * 0.5f && got.double_add == all * 0.25, "float %g double %g",
        got.float_add, got.double_add);
  CHECK(got.wide_add == (static_cast<unsigned long long>(all) << 32) + ids, "wide add %llx",
        got.wide_add);
  CHECK(got.wide_max == 1ull << 49 && got.wide_min == 1ull << 11, "wide max %llx min %llx",
        got.wide_max, got.wide_min);
  CHECK(got.cas == cas, "compare and swap %d, wanted %d", got.cas, cas);
  CHECK(got.shared == static_cast<unsigned>(blocks * threads * (threads - 1) / 2), "LDS %u",
        got.shared);
  CHECK(got.lock == 0 && got.guarded == blocks, "lock %d guarded %d", got.lock, got.guarded);
  CHECK(*system_counter == 40 + all, "system scope %d, wanted %d", *system_counter, 40 + all);
  HIP_CALL(hipHostFree(system_counter));
  program::Free(device);
  return program::Pass();
}
