// SPDX-License-Identifier: MIT
//
// Kernels that are limited by one thing each, by construction; their names begin with it.
// bottleneck_test.py compares that with analysis.json. The sizes are for an RX 6800 XT: 72 compute
// units of 2 SIMDs, 512 GB/s. "half" as argument halves what each kernel has to do.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                             \
  do {                                                          \
    if (const hipError_t error = (call); error != hipSuccess) { \
      printf("FAIL %s: %s\n", #call, hipGetErrorString(error)); \
      exit(1);                                                  \
    }                                                           \
  } while (0)

namespace {

constexpr int kUnits = 72;

// So many instructions that each take 16 cycles on this GPU and wait for the one before.
__device__ double Long(double value, int rounds) {
  for (int i = 0; i < rounds; ++i) value = __builtin_fma(value, 0.5, 1.0);
  return value;
}
// Four cycles each.
__device__ float Sines(float value, int rounds) {
  for (int i = 0; i < rounds; ++i) value = __builtin_amdgcn_sinf(value);
  return value;
}
__device__ unsigned At() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Follows indices; the lanes of a wave stay in one line.
__device__ unsigned Chase(const unsigned* next, unsigned steps) {
  unsigned at = threadIdx.x % 32;
  for (unsigned i = 0; i < steps; ++i) at = next[at];
  return at;
}

}  // namespace

extern "C" {

// --- memory bandwidth

__global__ void bandwidth_copy(const float4* in, float4* out) { out[At()] = in[At()]; }
__global__ void bandwidth_sum(const float4* in, float4* out) {
  const float4 value = in[At()];
  if (value.x + value.y + value.z + value.w == 1.5f) out[At()] = value;
}
__global__ void bandwidth_fill(float4* out) { out[At()] = {1, 2, 3, 4}; }
// Each lane asks for a line of its own.
__global__ void bandwidth_strided(const float* in, float* out) {
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += in[32 * At() + i];
  if (sum == 1.5f) out[At()] = sum;
}

// --- memory latency

__global__ void latency_chase(const unsigned* next, unsigned* out, unsigned steps) {
  const unsigned at = Chase(next, steps);
  if (at == ~0u) out[0] = at;
}
__global__ void latency_list_sum(const unsigned* next, unsigned* out, unsigned steps) {
  unsigned at = threadIdx.x % 32, sum = 0;
  for (unsigned i = 0; i < steps; ++i) {
    at = next[at];
    sum += at;
  }
  if (sum == ~0u) out[0] = sum;
}
__global__ void latency_search(const unsigned* next, unsigned* out, unsigned steps) {
  unsigned at = threadIdx.x % 32;
  for (unsigned i = 0; i < steps && at < 1u << 20; ++i) at = next[at ^ (i & 1)];
  if (at == ~0u) out[0] = at;
}
__global__ void latency_hash(const unsigned* next, unsigned* out, unsigned steps) {
  unsigned at = threadIdx.x % 32;
  for (unsigned i = 0; i < steps; ++i) at = next[(at ^ 5) & 31];
  if (at == ~0u) out[0] = at;
}

// --- LDS

__global__ void lds_conflicts(float* out, int rounds) {
  __shared__ float values[32 * 32];
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) values[i] = i;
  __syncthreads();
  float sum = 0;
  unsigned at = threadIdx.x % 32 * 32;
  for (int i = 0; i < rounds; ++i) sum += values[at ^ (i & 31)];
  out[At()] = sum;
}
__global__ void lds_column_writes(float* out, int rounds) {
  __shared__ volatile float values[32 * 32];
  for (int i = 0; i < rounds; ++i) values[threadIdx.x % 32 * 32 + (i & 31)] = i;
  __syncthreads();
  out[At()] = values[threadIdx.x % 32];
}
__global__ void lds_histogram(unsigned* out, int rounds) {
  __shared__ unsigned bins[32];
  if (threadIdx.x < 32) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = 0; i < rounds; ++i) atomicAdd(&bins[(i + threadIdx.x) & 1], i);
  __syncthreads();
  if (threadIdx.x < 32) out[threadIdx.x] = bins[threadIdx.x];
}
__global__ void lds_half_conflicts(float* out, int rounds) {
  __shared__ float values[32 * 16];
  for (unsigned i = threadIdx.x; i < 512; i += blockDim.x) values[i] = i;
  __syncthreads();
  float sum = 0;
  const unsigned at = threadIdx.x % 32 * 16;
  for (int i = 0; i < rounds; ++i) sum += values[at ^ (i & 15)];
  out[At()] = sum;
}

// --- compute throughput

__global__ void compute_f64(double* out, int rounds) { out[At()] = Long(At(), rounds); }
__global__ void compute_sines(float* out, int rounds) { out[At()] = Sines(At(), rounds); }
__global__ void compute_products(unsigned* out, int rounds) {
  unsigned value = At();
  for (int i = 0; i < rounds; ++i) value = value * (value | 1);
  out[At()] = value;
}
__global__ void compute_polynomial(const double* in, double* out, int rounds) {
  const double x = in[At()];
  double value = 0;
  for (int i = 0; i < rounds; ++i) value = __builtin_fma(value, x, 0.25) * x;
  out[At()] = value;
}

// --- under-occupied

__global__ void occupied_one_group(double* out, int rounds) { out[At()] = Long(At(), rounds); }
__global__ void occupied_few_groups(double* out, int rounds) { out[At()] = Long(At(), rounds); }
__global__ void occupied_small_groups(double* out, int rounds) { out[At()] = Long(At(), rounds); }
// So much LDS that one small workgroup fills a compute unit.
__global__ void occupied_much_lds(const unsigned* next, unsigned* out, unsigned steps) {
  __shared__ volatile unsigned pad[15 * 1024];
  pad[threadIdx.x] = 0;
  const unsigned at = Chase(next, steps);
  if (at == ~0u) out[0] = at + pad[threadIdx.x];
}

// --- divergence

__global__ void divergence_one_lane(double* out, int rounds) {
  if (threadIdx.x % 32 == 0) out[At()] = Long(At(), rounds);
}
__global__ void divergence_four_ways(double* out, int rounds) {
  double value = At();
  switch (threadIdx.x % 4) {
    case 0:
      value = Long(value, rounds);
      break;
    case 1:
      value = Long(value + 1, rounds) * 3;
      break;
    case 2:
      value = Long(value + 2, rounds) + 3;
      break;
    default:
      value = Long(value + 3, rounds) - 5;
  }
  out[At()] = value;
}
__global__ void divergence_uneven_loops(double* out, int rounds) {
  const int lane = threadIdx.x % 32;
  out[At()] = Long(At(), lane < 30 ? rounds / 16 : rounds);
}
__global__ void divergence_nested(float* out, int rounds) {
  float value = At();
  if (threadIdx.x % 2 != 0) {
    value = Sines(value, rounds);
    if (threadIdx.x % 4 == 1) value = Sines(value + 1, rounds);
  }
  out[At()] = value;
}

// --- launch-bound

__global__ void launch_empty() {}
__global__ void launch_one_item(float* out) { *out = 1; }
__global__ void launch_small_axpy(const float* in, float* out) { out[At()] += 2 * in[At()]; }
__global__ void launch_small_sum(const float* in, float* out) {
  __shared__ float values[256];
  values[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (unsigned step = 128; step > 0; step /= 2) {
    if (threadIdx.x < step) values[threadIdx.x] += values[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = values[0];
}

// --- tail

__global__ void tail_one_long_group(double* out, int rounds) {
  out[At()] = Long(At(), blockIdx.x == 0 ? rounds : rounds / 32);
}
__global__ void tail_few_long_waves(double* out, int rounds) {
  out[At()] = Long(At(), At() / 32 % 64 == 0 ? rounds : rounds / 32);
}
__global__ void tail_one_group_too_many(double* out, int rounds) { out[At()] = Long(At(), rounds); }
__global__ void tail_last_round(float* out, int rounds) { out[At()] = Sines(At(), rounds); }
}

int main(int argc, char** argv) {
  const int part = argc > 1 && strcmp(argv[1], "half") == 0 ? 2 : 1;
  constexpr size_t kBytes = 32 << 20;
  char *in, *out;
  CHECK(hipMalloc(&in, kBytes));
  CHECK(hipMalloc(&out, kBytes));
  std::vector<unsigned> next(1024);
  for (unsigned i = 0; i < next.size(); ++i) next[i] = (i + 32) % 1024;
  CHECK(hipMemcpy(in, next.data(), 4096, hipMemcpyHostToDevice));
  auto* const floats = reinterpret_cast<float*>(out);
  auto* const doubles = reinterpret_cast<double*>(out);
  auto* const words = reinterpret_cast<unsigned*>(out);
  auto* const list = reinterpret_cast<const unsigned*>(in);
  auto* const fours = reinterpret_cast<const float4*>(in);

  const int wide = 1024 / part;  // workgroups of 256 lanes of 16 bytes: 4 MB
  bandwidth_copy<<<wide, 256>>>(fours, reinterpret_cast<float4*>(out));
  bandwidth_sum<<<2 * wide, 256>>>(fours, reinterpret_cast<float4*>(out));
  bandwidth_fill<<<2 * wide, 256>>>(reinterpret_cast<float4*>(out));
  bandwidth_strided<<<wide / 2, 256>>>(reinterpret_cast<const float*>(in), floats);

  const unsigned steps = 64 / part;
  latency_chase<<<kUnits, 384>>>(list, words, steps);
  latency_list_sum<<<kUnits, 384>>>(list, words, steps);
  latency_search<<<kUnits, 384>>>(list, words, steps);
  latency_hash<<<kUnits, 384>>>(list, words, steps);

  lds_conflicts<<<2 * kUnits, 256>>>(floats, 96 / part);
  lds_column_writes<<<2 * kUnits, 256>>>(floats, 96 / part);
  lds_histogram<<<2 * kUnits, 256>>>(words, 192 / part);
  lds_half_conflicts<<<2 * kUnits, 256>>>(floats, 192 / part);

  compute_f64<<<4 * kUnits, 256>>>(doubles, 64 / part);
  compute_sines<<<4 * kUnits, 256>>>(floats, 256 / part);
  compute_products<<<4 * kUnits, 256>>>(words, 256 / part);
  compute_polynomial<<<4 * kUnits, 256>>>(reinterpret_cast<const double*>(in), doubles, 32 / part);

  occupied_one_group<<<1, 64>>>(doubles, 1500 / part);
  occupied_few_groups<<<16, 64>>>(doubles, 1500 / part);
  occupied_small_groups<<<8 * kUnits, 8>>>(doubles, 250 / part);
  occupied_much_lds<<<kUnits, 64>>>(list, words, 4 * steps);

  divergence_one_lane<<<kUnits, 256>>>(doubles, 250 / part);
  divergence_four_ways<<<kUnits, 256>>>(doubles, 64 / part);
  divergence_uneven_loops<<<kUnits, 256>>>(doubles, 250 / part);
  divergence_nested<<<2 * kUnits, 256>>>(floats, 256 / part);

  launch_empty<<<64 / part, 64>>>();
  launch_one_item<<<1, 1>>>(floats);
  launch_small_axpy<<<32 / part, 64>>>(reinterpret_cast<const float*>(in), floats);
  launch_small_sum<<<1, 256>>>(reinterpret_cast<const float*>(in), floats);

  tail_one_long_group<<<4 * kUnits, 64>>>(doubles, 3200 / part);
  tail_few_long_waves<<<4 * kUnits, 64>>>(doubles, 3200 / part);
  tail_one_group_too_many<<<kUnits + 1, 256>>>(doubles, 250 / part);
  tail_last_round<<<kUnits + kUnits / 4, 256>>>(floats, 1000 / part);
  CHECK(hipGetLastError());
  CHECK(hipDeviceSynchronize());
  return 0;
}
