// SPDX-License-Identifier: MIT
//
// Memory that a program holds over time. memory_held MODE
//   steady   buffers of which some are freed early and the others at the end
//   leak     the same, and a buffer in each round that is never freed
#include "truth.h"

using namespace truth;

constexpr size_t kMiB = 1 << 20;

int main(int count, char** arguments) {
  const bool leaks = count > 1 && std::string(arguments[1]) == "leak";
  size_t held = 0, peak = 0, leaked = 0;
  const auto get = [&](size_t bytes) {
    held += bytes;
    peak = held > peak ? held : peak;
    return Allocate<char>(bytes);
  };
  const auto give_back = [&](char* memory, size_t bytes) {
    CHECK(hipFree(memory));
    held -= bytes;
  };
  int* numbers = Allocate(64);
  held += 64 * sizeof(int);
  Spin<0><<<1, 64>>>(numbers, 10);
  CHECK(hipDeviceSynchronize());
  const double begin = NowMs();
  char* weights = get(48 * kMiB);
  char* early = get(24 * kMiB);
  void* pinned = nullptr;
  CHECK(hipHostMalloc(&pinned, 16 * kMiB));
  const double peak_at = NowMs();
  give_back(early, 24 * kMiB);
  for (int round = 0; round < 12; ++round) {
    char* scratch = get(2 * kMiB);
    Spin<0><<<1, 64>>>(numbers, 1000);
    CHECK(hipDeviceSynchronize());
    SleepMs(15);
    give_back(scratch, 2 * kMiB);
    if (!leaks) continue;
    get(kMiB + round * 4096);
    leaked += kMiB + round * 4096;
  }
  CHECK(hipHostFree(pinned));
  give_back(weights, 48 * kMiB);
  CHECK(hipFree(numbers));
  Truth()
      .Add("peak_bytes", static_cast<double>(peak))
      .Add("peak_ms", peak_at - begin)
      .Add("pinned_bytes", 16 * kMiB)
      .Add("leaked_bytes", static_cast<double>(leaked))
      .Print();
}
