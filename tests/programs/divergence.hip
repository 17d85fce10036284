// SPDX-License-Identifier: MIT
//
// Control flow in which every lane goes its own way: nested loops with break and continue, a switch
// with fall-through, early return, a loop that some lanes never enter, goto-like state machines.

#include "program.h"

__host__ __device__ inline unsigned Wander(unsigned seed, unsigned lane) {
  unsigned x = seed, sum = 0;
  for (unsigned outer = 0; outer < seed % 13; ++outer) {
    for (unsigned inner = 0;; ++inner) {
      x = x * 1103515245u + 12345u;
      if ((x >> 16) % 7 == 0) break;
      if ((x >> 18) % 3 == 0) continue;
      sum += inner + outer;
      if (inner > 20) break;
    }
    if (sum % 11 == 10) break;
  }
  switch ((seed + lane) % 8) {
    case 0:
      sum += 1;
      [[fallthrough]];
    case 1:
      sum ^= 0xFF;
      break;
    case 2:
      while (x % 5 != 0 && x > 10) x = x / 2 + 3, ++sum;
      break;
    case 3:
      if (lane & 4) return sum + 1000000;
      [[fallthrough]];
    case 5:
      for (unsigned k = lane; k != 0; k &= k - 1) sum = sum * 3 + k;
      break;
    case 7:
      sum = sum > 40 ? sum - 40 : 40 - sum;
      break;
    default:
      do {
        sum += x & 3;
        x >>= 3;
      } while (x != 0);
  }
  int state = static_cast<int>(seed % 4);
  for (int step = 0; state != 3 && step < 50; ++step) {
    if (state == 0) {
      state = sum % 2 ? 1 : 2;
    } else if (state == 1) {
      sum = sum * 3 + 1;
      state = step > 10 ? 3 : 0;
    } else {
      sum /= 2;
      state = sum < 5 ? 3 : 0;
    }
  }
  return sum;
}

__global__ void Diverge(const unsigned* seeds, unsigned* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  out[i] = Wander(seeds[i], threadIdx.x);
}

// Lanes leave a common loop one after another, and meet again at a barrier.
__global__ void Stagger(unsigned* out) {
  __shared__ unsigned arrived;
  if (threadIdx.x == 0) arrived = 0;
  __syncthreads();
  unsigned steps = 0;
  for (unsigned left = threadIdx.x; left > 0; left -= left > 3 ? 3 : left) ++steps;
  atomicAdd(&arrived, steps);
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = arrived * 1000 + steps;
}

int main() {
  program::Begin("divergence");
  const int count = 1000, threads = 192;
  std::vector<unsigned> seeds(count);
  program::Random random(37);
  for (auto& seed : seeds) seed = static_cast<unsigned>(random.Next() >> 40);
  unsigned* device_seeds = program::NewDevice(seeds);
  unsigned* device_out = program::NewDevice<unsigned>(count);
  LAUNCH(Diverge, (count + threads - 1) / threads, threads, 0, nullptr, device_seeds, device_out,
         count);
  HIP_CALL(hipDeviceSynchronize());
  std::vector<unsigned> out = program::Download(device_out, count);
  for (int i = 0; i < count; ++i) {
    const unsigned want = Wander(seeds[i], i % threads);
    CHECK(out[i] == want, "thread %d (seed %u) gave %u, wanted %u", i, seeds[i], out[i], want);
  }
  LAUNCH(Stagger, 2, threads, 0, nullptr, device_out);
  HIP_CALL(hipDeviceSynchronize());
  out = program::Download(device_out, 2 * threads);
  unsigned total = 0;
  for (unsigned thread = 0; thread < threads; ++thread) total += (thread + 2) / 3;
  for (unsigned i = 0; i < 2 * threads; ++i) {
    const unsigned want = total * 1000 + (i % threads + 2) / 3;
    CHECK(out[i] == want, "staggered thread %u gave %u, wanted %u", i, out[i], want);
  }
  program::Free(device_seeds);
  program::Free(device_out);
  return program::Pass();
}
