// SPDX-License-Identifier: MIT
//
// Programs whose truth is known, one mode each: truth.py has what `-a uninit` and `-a bounds` must
// say. Kernels are few and the host does the rest: what counts is what is allocated, filled, copied
// and freed before the first of them, and between them.
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr size_t kBytes = 4096;
constexpr int kItems = kBytes / sizeof(float);

__global__ void Read(const float* in, float* out, int n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

__global__ void Write(float* out, int n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1;
}

__global__ void Store(float* at, long offset) { at[offset + threadIdx.x] = 1; }

struct Views {
  float* first;
  float* second;
};
__global__ void StoreByView(Views views, int offset) { views.first[offset + threadIdx.x] = 1; }

__global__ void TwoArrays(float* out, int offset) {
  __shared__ float first[64];
  __shared__ float second[64];
  second[threadIdx.x] = 7;
  __syncthreads();
  first[threadIdx.x + offset] = 1;
  __syncthreads();
  out[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];
}

// Has a place without a probe, and is never launched.
__global__ void NeverLaunched(float* out) {
  out[threadIdx.x] = 1;
  asm volatile("s_nop 0" ::: "memory");
}

void Check(hipError_t result) {
  if (result == hipSuccess) return;
  fprintf(stderr, "%s\n", hipGetErrorString(result));
  _exit(1);
}

float* Allocated(size_t bytes = kBytes) {
  float* memory = nullptr;
  Check(hipMalloc(&memory, bytes));
  return memory;
}

float* Filled(size_t bytes = kBytes) {
  float* const memory = Allocated(bytes);
  Check(hipMemset(memory, 0, bytes));
  return memory;
}

void ReadAll(const float* in, float* out, int n = kItems) {
  Read<<<(n + 255) / 256, 256>>>(in, out, n);
  Check(hipDeviceSynchronize());
}

void StoreAt(float* at, long offset) {
  Store<<<1, 64>>>(at, offset);
  (void)hipDeviceSynchronize();  // the GPU may notice
}

// 16 rows of 128 bytes, 256 bytes apart.
float* CopiedRows() {
  const std::vector<float> rows(16 * 32, 1);
  float* const memory = Allocated();
  Check(hipMemcpy2D(memory, 256, rows.data(), 128, 128, 16, hipMemcpyHostToDevice));
  return memory;
}

float* CopyOf(const float* source) {
  float* const memory = Allocated();
  Check(hipMemcpy(memory, source, kBytes, hipMemcpyDeviceToDevice));
  return memory;
}

const std::map<std::string, std::function<void()>> kModes = {
    // Nobody has written what is read.
    {"beside_filled",
     [] {
       float* const out = Filled();
       ReadAll(Allocated(), out);
     }},
    {"behind_filled",
     [] {
       float* const out = Allocated();
       float* const in = Allocated();
       Check(hipMemset(out, 0, kBytes));
       ReadAll(in, out);
     }},
    {"activations",
     [] {
       Filled(65536);
       float* const gradients = Filled(65536);
       ReadAll(Allocated(65536), gradients);
     }},
    {"half_filled",
     [] {
       float* const in = Allocated();
       Check(hipMemset(in, 0, kBytes / 2));
       ReadAll(in, Allocated());
     }},
    {"filled_by_old_owner",
     [] {
       float* const old = Filled(65536);
       Check(hipFree(old));
       float* const in = Allocated(65536);
       if (in != old) fprintf(stderr, "another address\n");
       ReadAll(in, Allocated());
     }},
    {"between_rows", [] { ReadAll(CopiedRows(), Allocated(), 64); }},
    {"copy_of_unwritten", [] { ReadAll(CopyOf(Allocated()), Allocated()); }},
    {"copy_of_freed",
     [] {
       float* const source = Allocated();
       float* const in = CopyOf(source);
       Check(hipFree(source));
       ReadAll(in, Allocated());
     }},
    // All of it was written.
    {"filled", [] { ReadAll(Filled(), Filled()); }},
    {"filled_odd",
     [] {
       float* const in = Allocated();
       Check(hipMemset(in, 0, 13));
       Check(hipMemset(reinterpret_cast<char*>(in) + 13, 0, kBytes - 13));
       ReadAll(in, Allocated());
     }},
    {"filled_words",
     [] {
       float* const in = Allocated();
       Check(hipMemsetD32Async(reinterpret_cast<hipDeviceptr_t>(in), 1, kItems, nullptr));
       ReadAll(in, Allocated());
       float* const rows = Allocated();
       Check(hipMemset2D(rows, 256, 0, 256, 16));
       ReadAll(rows, Allocated());
     }},
    {"rows", [] { ReadAll(CopiedRows(), Allocated(), 32); }},
    {"copy_of_written", [] { ReadAll(CopyOf(Filled()), Allocated()); }},
    // The kernel's messages come after the copy was asked for.
    {"copy_of_result",
     [] {
       float* const source = Allocated();
       float* const in = Allocated();
       Write<<<kItems / 256, 256>>>(source, kItems);
       Check(hipMemcpyAsync(in, source, kBytes, hipMemcpyDeviceToDevice, nullptr));
       ReadAll(in, Allocated());
       Check(hipFree(source));
       ReadAll(in, Allocated());
     }},
    // Outside of what the argument points into.
    {"freed_before",
     [] {
       float* const freed = Allocated(65536);
       Allocated(65536);
       Check(hipFree(freed));
       StoreAt(freed, 0);
     }},
    {"freed_behind",
     [] {
       Allocated(65536);
       float* const freed = Allocated(65536);
       Check(hipFree(freed));
       StoreAt(freed, 0);
     }},
    {"freed_and_met_another",
     [] {
       float* const freed = Allocated(8 << 20);
       Check(hipFree(freed));
       float* const other = Allocated(1 << 20);
       StoreAt(freed, other - freed);
     }},
    // What the analyzer cannot see.
    {"structure",
     [] {
       const Views views{Allocated(), Allocated(65536)};
       StoreByView<<<1, 64>>>(views, kItems);
       Check(hipDeviceSynchronize());
     }},
    {"lds_arrays",
     [] {
       TwoArrays<<<1, 64>>>(Allocated(), 8);
       Check(hipDeviceSynchronize());
     }},
    {"inside", [] { StoreAt(Allocated(), 0); }},
};

}  // namespace

int main(int count, char** arguments) {
  const auto mode = kModes.find(count > 1 ? arguments[1] : "");
  if (mode == kModes.end()) return 2;
  if (count > 2) NeverLaunched<<<1, 64>>>(Allocated());
  mode->second();
  puts("PASS truth");
  return 0;
}
