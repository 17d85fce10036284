// SPDX-License-Identifier: MIT
//
// Integer arithmetic at its edges: division and remainder of 32 and 64 bits, shifts, rotations, bit
// counting and reversal, high products, carries, saturation, bit fields and conversions, over
// random and extreme operands. The host computes the same by other means.

#include "program.h"

constexpr int kResults = 30;
using U64 = unsigned long long;

__host__ __device__ inline int SaturatingAdd(int a, int b) {
  int sum;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? -2147483647 - 1 : 2147483647;
  return sum;
}

__global__ void Integers(const U64* a, const U64* b, U64* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const U64 x = a[i], y = b[i], divisor = y | 1;
  const long long sx = static_cast<long long>(x),
                  sdivisor = static_cast<long long>(divisor >> 1) | 1;
  const unsigned x32 = static_cast<unsigned>(x), y32 = static_cast<unsigned>(y);
  const int sx32 = static_cast<int>(x32), sy32 = static_cast<int>(y32);
  U64* r = out + i * kResults;
  r[0] = x + y;
  r[1] = x - y;
  r[2] = x * y;
  r[3] = x / divisor;
  r[4] = x % divisor;
  r[5] = static_cast<U64>(sx / sdivisor);
  r[6] = static_cast<U64>(sx % sdivisor);
  r[7] = x32 / (y32 | 1);
  r[8] = x32 % (y32 | 1);
  r[9] = static_cast<U64>(sx32 / static_cast<int>((y32 >> 1) | 1));
  r[10] = x << (y & 63);
  r[11] = x >> (y & 63);
  r[12] = static_cast<U64>(sx >> (y & 63));
  r[13] = x32 << (y & 31);
  r[14] = static_cast<unsigned>(sx32 >> (y & 31));
  r[15] = __popc(x32) + 100 * __popcll(x);
  r[16] = __clz(sx32) + 100 * __clzll(sx);
  r[17] = __ffs(x32) + 100 * __ffsll(x);
  r[18] = __brev(x32);
  r[19] = __brevll(x);
  r[20] = __umulhi(x32, y32);
  r[21] = static_cast<unsigned>(__mulhi(sx32, sy32));
  r[22] = __umul64hi(x, y);
  r[23] = static_cast<unsigned>(SaturatingAdd(sx32, sy32));
  r[24] = __byte_perm(x32, y32, 0x6420);
  r[25] = (x32 << (y & 31)) | (x32 >> ((32 - (y & 31)) & 31));
  r[26] = static_cast<unsigned>(sx32 < 0 ? 0u - x32 : x32) ^ (sx32 > sy32 ? 1u : 0u) ^
          (x32 > y32 ? 2u : 0u) ^ (x > y ? 4u : 0u);
  r[27] = (x32 >> 7) & 0x1FF;
  r[28] = static_cast<unsigned>(static_cast<int>(x32 << 12) >> 21);
  r[29] = static_cast<unsigned short>(x32 * y32) + static_cast<U64>(static_cast<signed char>(x32)) +
          static_cast<unsigned>(__usad(x32, y32, 5));
}

namespace {

void Host(U64 x, U64 y, U64* r) {
  const U64 divisor = y | 1;
  const long long sx = static_cast<long long>(x),
                  sdivisor = static_cast<long long>(divisor >> 1) | 1;
  const unsigned x32 = static_cast<unsigned>(x), y32 = static_cast<unsigned>(y);
  const int sx32 = static_cast<int>(x32), sy32 = static_cast<int>(y32);
  const unsigned shift = y & 63, shift32 = y & 31;
  U64 reversed = 0;
  for (int bit = 0; bit < 64; ++bit) reversed |= (x >> bit & 1) << (63 - bit);
  const auto wide = static_cast<unsigned __int128>(x) * y;
  const U64 values[kResults] = {
      x + y,
      x - y,
      x * y,
      x / divisor,
      x % divisor,
      static_cast<U64>(sx / sdivisor),
      static_cast<U64>(sx % sdivisor),
      x32 / (y32 | 1),
      x32 % (y32 | 1),
      static_cast<U64>(sx32 / static_cast<int>((y32 >> 1) | 1)),
      x << shift,
      x >> shift,
      static_cast<U64>(sx >> shift),
      static_cast<unsigned>(x32 << shift32),
      static_cast<unsigned>(sx32 >> shift32),
      static_cast<U64>(__builtin_popcount(x32) + 100 * __builtin_popcountll(x)),
      static_cast<U64>((x32 ? __builtin_clz(x32) : 32) + 100 * (x ? __builtin_clzll(x) : 64)),
      static_cast<U64>(__builtin_ffs(sx32) + 100 * __builtin_ffsll(sx)),
      0,  // the 32-bit reversal, below
      reversed,
      static_cast<U64>(x32) * y32 >> 32,
      static_cast<unsigned>((static_cast<long long>(sx32) * sy32) >> 32),
      static_cast<U64>(wide >> 64),
      static_cast<unsigned>(SaturatingAdd(sx32, sy32)),
      (x32 & 0xFF) | (x32 >> 16 & 0xFF) << 8 | (y32 & 0xFF) << 16 | (y32 >> 16 & 0xFF) << 24,
      static_cast<unsigned>(x32 << shift32 | x32 >> ((32 - shift32) & 31)),
      static_cast<unsigned>(sx32 < 0 ? 0u - x32 : x32) ^ (sx32 > sy32 ? 1u : 0u) ^
          (x32 > y32 ? 2u : 0u) ^ (x > y ? 4u : 0u),
      (x32 >> 7) & 0x1FF,
      static_cast<unsigned>(static_cast<int>(x32 << 12) >> 21),
      static_cast<unsigned short>(x32 * y32) + static_cast<U64>(static_cast<signed char>(x32)) +
          static_cast<unsigned>((x32 > y32 ? x32 - y32 : y32 - x32) + 5)};
  memcpy(r, values, sizeof(values));
  unsigned reversed32 = 0;
  for (int bit = 0; bit < 32; ++bit) reversed32 |= (x32 >> bit & 1) << (31 - bit);
  r[18] = reversed32;
}

}  // namespace

int main() {
  program::Begin("integer_ops");
  const U64 edges[] = {0,
                       1,
                       2,
                       0x7F,
                       0x80,
                       0x7FFFFFFF,
                       0x80000000,
                       0xFFFFFFFF,
                       0x100000000,
                       0x7FFFFFFFFFFFFFFF,
                       0x8000000000000000,
                       0xFFFFFFFFFFFFFFFF};
  std::vector<U64> a, b;
  for (U64 x : edges) {
    for (U64 y : edges) a.push_back(x), b.push_back(y);
  }
  program::Random random(31);
  while (a.size() < 512) {
    a.push_back(random.Next() >> random.Below(60));
    b.push_back(random.Next() >> random.Below(60));
  }
  const int count = static_cast<int>(a.size());
  U64* device_a = program::NewDevice(a);
  U64* device_b = program::NewDevice(b);
  U64* device_out = program::NewDevice<U64>(count * kResults);
  LAUNCH(Integers, (count + 63) / 64, 64, 0, nullptr, device_a, device_b, device_out, count);
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<U64> out = program::Download(device_out, count * kResults);
  for (int i = 0; i < count; ++i) {
    U64 want[kResults];
    Host(a[i], b[i], want);
    for (int r = 0; r < kResults; ++r) {
      CHECK(out[i * kResults + r] == want[r], "result %d of (%llx, %llx) is %llx, wanted %llx", r,
            a[i], b[i], out[i * kResults + r], want[r]);
    }
  }
  for (U64* pointer : {device_a, device_b, device_out}) program::Free(pointer);
  return program::Pass();
}
