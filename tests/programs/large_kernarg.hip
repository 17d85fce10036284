// SPDX-License-Identifier: MIT
//
// Four kilobytes of arguments by value, with every word of them used, between two pointers.

#include "program.h"

struct Big {
  int words[1016];
  double last;
};
static_assert(sizeof(Big) + 2 * sizeof(void*) + 8 <= 4096, "one page with everything");

__global__ void Pick(const int* in, Big big, int* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] + big.words[i] + static_cast<int>(big.last);
}

int main() {
  program::Begin("large_kernarg");
  const int count = 1016;
  std::vector<int> in(count);
  Big big;
  big.last = 12345.0;
  int* out = program::NewDevice<int>(count);
  for (int i = 0; i < count; ++i) in[i] = i * 100000;
  int* device_in = program::NewDevice(in);
  // Each launch must keep its own copy of the arguments.
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < count; ++i) big.words[i] = i * 3 + round;
    LAUNCH(Pick, (count + 127) / 128, 128, 0, nullptr, device_in, big, out, count);
    for (int& word : big.words) word = -1;
    const std::vector<int> got = program::Download(out, count);
    for (int i = 0; i < count; ++i) {
      const int want = in[i] + i * 3 + round + 12345;
      CHECK(got[i] == want, "round %d: element %d is %d, wanted %d", round, i, got[i], want);
    }
  }
  program::Free(out);
  program::Free(device_in);
  return program::Pass();
}
