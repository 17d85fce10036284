// SPDX-License-Identifier: MIT
//
// Kernels that tests of replay capture by hand, and other builds of the same kernels: VARIANT says
// what is different about a build.

#include <hip/hip_runtime.h>

#define SAME 0      // the same results by other code
#define WRONG 1     // Scale is wrong in one element; the last kernels below in all
#define EXTRA 2     // Scale and plain_add have one more argument
#define FAULTS 3    // Scale writes where nothing is
#define HANGS 4     // Scale never ends
#define CLOSE 5     // Scale rounds otherwise
#define ORIGINAL 6  // what is captured
#define EMPTY 7     // Fill and what follows write nothing
#define SKIPS 8     // Fill leaves out a workgroup
#define TOO_MUCH 9  // Fill writes one byte after its last element: what is there
#define ADDS 10     // Fill adds to what is there instead of replacing it
#ifndef VARIANT
#define VARIANT ORIGINAL
#endif

#if VARIANT == EXTRA
#define MORE , int more
#else
#define MORE
#endif

#if VARIANT == SAME
// Moves everything below to other addresses.
__device__ int padding[1000] = {1};
#endif

__global__ void Scale(float* data, const float* add, float factor, int count MORE) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if VARIANT == SAME
  if (i < 0) data[0] = padding[-i];
#endif
  if (i >= count) return;
#if VARIANT == FAULTS
  if (i == 5) *reinterpret_cast<float*>(0x1000) = 1;
#endif
#if VARIANT == HANGS
  while (__hip_atomic_load(data, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM) != 12345.0f)
    __builtin_amdgcn_s_sleep(1);
#endif
  float value = data[i] * factor + add[i];
#if VARIANT == WRONG
  if (i == 77) value += 1;
#endif
#if VARIANT == CLOSE
  value *= 1.000001f;
#endif
  data[i] = value;
}

// Its name tells nothing about its parameters.
extern "C" __global__ void plain_add(float* data, float value MORE) {
#if VARIANT == CLOSE
  value *= 1.000001f;
#endif
  data[threadIdx.x] += value;
}

// A variable that changes, one that points to another, and one that the program fills.
__device__ int counter = 3;
__device__ int* pointer = &counter;
__constant__ int table[4];

__global__ void Globals(int* out, int* passed) {
  const int i = threadIdx.x;
  out[i] = table[i & 3] + *pointer;
  __syncthreads();
  if (i == 0) {
    counter += 10;
    *passed += 100;  // points at counter, too
    *pointer += 1000;
    out[100] = counter;
    reinterpret_cast<int**>(out)[128] = pointer;
  }
}

struct Node {
  Node* next;
  int value;
};

__global__ void Chase(Node* head, int* sum) {
  int total = 0;
  for (Node* node = head; node != nullptr; node = node->next) {
    total += node->value;
    node->value = -node->value;
  }
  *sum = total;
}

__global__ void DynamicLds(int* out) {
  extern __shared__ int shared[];
  shared[threadIdx.x] = threadIdx.x * 3;
  __syncthreads();
  out[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

// Writes what it does not read.
__global__ void Fill(int* out, const int* in, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
#if VARIANT == SAME
  out[count - 1 - i] = 1 + 3 * in[count - 1 - i];
#elif VARIANT == ADDS
  out[i] += in[i] * 3 + 1;
#elif VARIANT != EMPTY
#if VARIANT == SKIPS
  if (blockIdx.x == 2) return;
#elif VARIANT == TOO_MUCH
  if (i == 0) reinterpret_cast<volatile char*>(out)[count * sizeof(int)] = 0;
#endif
  out[i] = in[i] * 3 + 1;
#endif
}

// The same by way of indices that nobody calls const: other indices lead anywhere.
__global__ void Gather(int* out, int* in, long* index, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if VARIANT != EMPTY
  if (i < count) out[i] = in[index[i]];
#endif
}

// Input and output behind one pointer.
__global__ void Halves(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if VARIANT != EMPTY
  if (i < count) data[count + i] = data[i] * 3 + 1;
#endif
}

// Reads what it writes, and does not change it the second time.
__global__ void Clamp(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if VARIANT != EMPTY
  if (i < count) data[i] = data[i] < 0 ? 0 : data[i];
#endif
}

__global__ void Integers(int* out) {
#if VARIANT == WRONG
  out[threadIdx.x] = 16777217 + 2 * threadIdx.x;
#elif VARIANT != EMPTY
  out[threadIdx.x] = 16777216 + 2 * threadIdx.x;
#endif
}

__global__ void Clock(unsigned long long* out) {
#if VARIANT == WRONG
  out[threadIdx.x] = 0;
#elif VARIANT != EMPTY
  out[threadIdx.x] = wall_clock64();
#endif
}

// The order in which things are added is another one each time: that of the workgroups is the
// machine's, and that within a workgroup is the clock's, since a busy machine may always do the
// same.
__global__ void FloatAtomics(float* sum, const float* values, int count) {
#if VARIANT == WRONG
  if (blockIdx.x == 0 && threadIdx.x == 0) *sum = -1;
#elif VARIANT != EMPTY
  __shared__ unsigned start;
  if (threadIdx.x == 0) start = static_cast<unsigned>(wall_clock64());
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + (threadIdx.x + start) % blockDim.x;
  if (i < count) atomicAdd(sum, values[i]);
#endif
}
