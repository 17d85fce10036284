// SPDX-License-Identifier: MIT
//
// Fault: the table is freed while a kernel that reads it is still to come.
// Fixed: it is freed after the kernel.
#include "check.h"

__global__ void LookUp(const int* table, const int* keys, int* values) {
  values[threadIdx.x] = table[keys[threadIdx.x] << 16];
}

int main(int count, char** arguments) {
  const bool fixed = IsFixed(count, arguments);
  constexpr size_t kTable = 64 << 20;
  int* table = nullptr;
  int* keys = nullptr;
  int* values = nullptr;
  CHECK(hipMalloc(&table, kTable));
  CHECK(hipMalloc(&keys, 64 * sizeof(int)));
  CHECK(hipMalloc(&values, 64 * sizeof(int)));
  CHECK(hipMemset(table, 0, kTable));
  CHECK(hipMemset(keys, 0, 64 * sizeof(int)));
  CHECK(hipDeviceSynchronize());
  if (!fixed) CHECK(hipFree(table));
  LookUp<<<1, 64>>>(table, keys, values);
  CHECK(hipDeviceSynchronize());
  if (fixed) CHECK(hipFree(table));
}
