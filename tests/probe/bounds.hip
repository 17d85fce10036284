// SPDX-License-Identifier: MIT
//
// Kernels that leave their allocation, and the same within it: bounds.py knows what `-a bounds`
// must say. Each line that it looks for ends with a comment "place NAME".
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace {

constexpr int kItems = 64;
constexpr int kSmall = 250;  // less than a page
constexpr int kPage = 1024;

__device__ int variable[kItems];

__global__ void Past(int* small, int from) {
  small[from + threadIdx.x] = 1;  // place past
}

// Pages lie side by side: there is memory after the end, of somebody else.
__global__ void Neighbour(int* page, int from) {
  page[from + threadIdx.x] = 1;  // place neighbour
}

__global__ void Before(int* page, int from) {
  const int value = page[from + static_cast<int>(threadIdx.x)];  // place before
  if (value == 77) page[0] = 1;
}

// The pointer is not the argument itself.
__global__ void Indirect(int** pointers, int from) {
  pointers[0][from + threadIdx.x] = 1;  // place indirect
}

// Hardware reads 0 there and drops what is written.
__global__ void Lds(int* page, int from) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = 1;
  __syncthreads();
  page[threadIdx.x] = tile[from + threadIdx.x];  // place lds
}

__global__ void Freed(int* page) {
  page[threadIdx.x] = 1;  // place freed
}

__global__ void Others(int* host, int* managed) {
  variable[threadIdx.x] += host[threadIdx.x];
  managed[threadIdx.x] = variable[threadIdx.x];
  if (threadIdx.x == 0) printf("printed by a kernel\n");
}

void Check(hipError_t result) {
  if (result == hipSuccess) return;
  fprintf(stderr, "%s\n", hipGetErrorString(result));
  _exit(1);
}

}  // namespace

int main(int count, char** arguments) {
  int *small = nullptr, *page = nullptr, *next = nullptr, *host = nullptr, *managed = nullptr;
  int** pointers = nullptr;
  Check(hipMalloc(&small, kSmall * sizeof(int)));
  Check(hipMalloc(&page, kPage * sizeof(int)));
  Check(hipMalloc(&next, kPage * sizeof(int)));
  Check(hipMalloc(&pointers, sizeof(int*)));
  Check(hipMemcpy(pointers, &small, sizeof(int*), hipMemcpyHostToDevice));
  if (next != page + kPage) fprintf(stderr, "the pages are not side by side\n");
  if (count > 1 && strcmp(arguments[1], "freed") == 0) {
    Freed<<<1, kItems>>>(page);
    Check(hipFree(page));
    Freed<<<1, kItems>>>(page);
    return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
  }
  const int wrong = count > 1 ? 0 : 1;
  // 1 KB past the end: half of these lanes would be inside of the page, all are outside.
  Past<<<1, kItems>>>(small, wrong != 0 ? kSmall + 256 : kSmall - kItems);
  Neighbour<<<1, kItems>>>(page, wrong != 0 ? kPage - 8 : kPage - kItems);
  Before<<<1, kItems>>>(next, wrong != 0 ? -16 : 0);
  Indirect<<<1, kItems>>>(pointers, wrong != 0 ? kSmall - 4 : 0);
  Lds<<<1, kItems, 2 * kItems * sizeof(int)>>>(page, wrong != 0 ? kItems + 2 : kItems);
  Check(hipHostMalloc(reinterpret_cast<void**>(&host), kItems * sizeof(int), 0));
  Check(hipMallocManaged(reinterpret_cast<void**>(&managed), kItems * sizeof(int)));
  memset(host, 0, kItems * sizeof(int));
  Others<<<1, kItems>>>(host, managed);
  Check(hipDeviceSynchronize());
  // What comes where something was freed is new.
  for (int i = 0; i < 4; ++i) {
    Check(hipFree(page));
    Check(hipMalloc(&page, kPage * sizeof(int)));
    Freed<<<1, kItems>>>(page);
    Check(hipDeviceSynchronize());
  }
  puts("PASS bounds");
  return 0;
}
