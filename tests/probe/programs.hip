// SPDX-License-Identifier: MIT
//
// Kernels whose accesses are compared with the software GPU's, one case each. Every case checks its
// own results, so that probes that change them are noticed. Usage: programs [CASE...]; all without.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#define CHECK(call)                                                                  \
  do {                                                                               \
    if (const hipError_t error = (call); error != hipSuccess) {                      \
      std::printf("FAIL %s:%d: %s\n", __FILE__, __LINE__, hipGetErrorString(error)); \
      std::fflush(stdout);                                                           \
      _Exit(1);                                                                      \
    }                                                                                \
  } while (false)

namespace {

using Values = std::vector<uint32_t>;

// Device memory that starts as `values` and ends as what a kernel made of it.
Values OnDevice(Values values, const std::function<void(uint32_t*)>& run) {
  uint32_t* device = nullptr;
  const size_t bytes = values.size() * sizeof(uint32_t);
  CHECK(hipMalloc(&device, bytes));
  // Two runs have their memory at other addresses.
  if (std::getenv("PROBE_BUFFERS") != nullptr)
    std::printf("buffer %zx %zu\n", reinterpret_cast<size_t>(device), bytes);
  CHECK(hipMemcpy(device, values.data(), bytes, hipMemcpyHostToDevice));
  run(device);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(values.data(), device, bytes, hipMemcpyDeviceToHost));
  CHECK(hipFree(device));
  return values;
}

Values Counting(uint32_t count) {
  Values values(count);
  for (uint32_t i = 0; i < count; ++i) values[i] = i;
  return values;
}

void Expect(const char* name, const Values& values,
            const std::function<uint32_t(uint32_t)>& right) {
  for (uint32_t i = 0; i < values.size(); ++i) {
    if (values[i] == right(i)) continue;
    std::printf("FAIL %s: element %u is %u instead of %u\n", name, i, values[i], right(i));
    std::fflush(stdout);
    _Exit(1);
  }
  std::printf("right %s\n", name);
}

}  // namespace

// --- one access after the other
extern "C" __global__ void probe_add(const uint32_t* a, const uint32_t* b, uint32_t* out,
                                     uint32_t count) {
  const uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) out[at] = a[at] + b[at];
}
void Add() {
  constexpr uint32_t kCount = 1000;
  const Values out = OnDevice(Counting(3 * kCount), [&](uint32_t* memory) {
    probe_add<<<4, 256>>>(memory, memory + kCount, memory + 2 * kCount, kCount);
  });
  Expect("add", out, [](uint32_t i) { return i < 2 * kCount ? i : 2 * (i - 2 * kCount) + kCount; });
}

// --- sizes: 1, 2, 4, 8 and 16 bytes
extern "C" __global__ void probe_sizes(unsigned char* memory) {
  const uint32_t at = threadIdx.x;
  memory[at] = static_cast<unsigned char>(memory[at] + 1);
  auto* const shorts = reinterpret_cast<unsigned short*>(memory + 256);
  shorts[at] = static_cast<unsigned short>(shorts[at] + 2);
  auto* const words = reinterpret_cast<uint32_t*>(memory + 512);
  words[at] += 3;
  auto* const longs = reinterpret_cast<uint64_t*>(memory + 1024);
  longs[at] += 4;
  auto* const vectors = reinterpret_cast<uint4*>(memory + 2048);
  uint4 value = vectors[at];
  value.x += value.w;
  vectors[at] = value;
}
void Sizes() {
  Values all(1024, 0x01010101);
  const Values out = OnDevice(all, [](uint32_t* memory) {
    probe_sizes<<<1, 96>>>(reinterpret_cast<unsigned char*>(memory));
  });
  Expect("sizes", out, [](uint32_t i) -> uint32_t {
    constexpr uint32_t kOld = 0x01010101;
    if (i < 24) return kOld + kOld;
    if (i >= 64 && i < 64 + 48) return kOld + 0x00020002;
    if (i >= 128 && i < 128 + 96) return kOld + 3;
    if (i >= 256 && i < 256 + 192) return kOld + (i % 2 == 0 ? 4 : 0);
    if (i >= 512 && i < 512 + 384) return i % 4 == 0 ? kOld + kOld : kOld;
    return kOld;
  });
}

// --- LDS, with a barrier between waves
extern "C" __global__ void probe_lds(uint32_t* values) {
  __shared__ uint32_t part[256];
  const uint32_t item = threadIdx.x;
  part[item] = values[blockIdx.x * 256 + item];
  for (uint32_t half = 128; half != 0; half /= 2) {
    __syncthreads();
    if (item < half) part[item] += part[item + half];
  }
  if (item == 0) values[blockIdx.x * 256] = part[0];
}
void Lds() {
  const Values out =
      OnDevice(Values(512, 1), [](uint32_t* memory) { probe_lds<<<2, 256>>>(memory); });
  Expect("lds", out, [](uint32_t i) { return i % 256 == 0 ? 256u : 1u; });
}

// --- LDS whose size the launch tells
extern "C" __global__ void probe_dynamic_lds(uint32_t* values) {
  extern __shared__ uint32_t whole[];
  whole[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = whole[blockDim.x - 1 - threadIdx.x];
}
void DynamicLds() {
  const Values out = OnDevice(Counting(128), [](uint32_t* memory) {
    probe_dynamic_lds<<<1, 128, 128 * sizeof(uint32_t)>>>(memory);
  });
  Expect("dynamic_lds", out, [](uint32_t i) { return 127 - i; });
}

// --- atomics of both kinds
extern "C" __global__ void probe_atomics(uint32_t* values) {
  __shared__ uint32_t count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);
  atomicMax(&values[threadIdx.x % 4], threadIdx.x);
  atomicCAS(&values[4 + threadIdx.x], 0, threadIdx.x + 1);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&values[100], count);
}
void Atomics() {
  const Values out =
      OnDevice(Values(128, 0), [](uint32_t* memory) { probe_atomics<<<2, 80>>>(memory); });
  Expect("atomics", out, [](uint32_t i) -> uint32_t {
    if (i < 4) return 76 + i;
    if (i < 84) return i - 3;
    return i == 100 ? 160 : 0;
  });
}

// --- lanes that part and meet again
extern "C" __global__ void probe_divergence(uint32_t* values) {
  const uint32_t at = threadIdx.x;
  if (at % 3 == 0)
    values[at] = 10;
  else if (at % 3 == 1)
    for (uint32_t i = 0; i < at % 7; ++i) values[at] += values[at + 64];
  else
    values[at] *= 2;
}
void Divergence() {
  const Values out =
      OnDevice(Counting(128), [](uint32_t* memory) { probe_divergence<<<1, 64>>>(memory); });
  Expect("divergence", out, [](uint32_t i) -> uint32_t {
    if (i >= 64) return i;
    if (i % 3 == 0) return 10;
    return i % 3 == 1 ? i + (i % 7) * (i + 64) : 2 * i;
  });
}

// --- a function that is called, and calls itself
__device__ __attribute__((noinline)) uint32_t Descend(const uint32_t* values, uint32_t at,
                                                      uint32_t depth) {
  if (depth == 0) return values[at];
  return values[at] + Descend(values, (at + 1) % 64, depth - 1);
}
extern "C" __global__ void probe_recursion(uint32_t* values) {
  values[64 + threadIdx.x] = Descend(values, threadIdx.x, threadIdx.x % 4);
}
void Recursion() {
  const Values out =
      OnDevice(Counting(128), [](uint32_t* memory) { probe_recursion<<<1, 64>>>(memory); });
  Expect("recursion", out, [](uint32_t i) -> uint32_t {
    if (i < 64) return i;
    uint32_t sum = 0;
    for (uint32_t k = 0; k <= i % 4; ++k) sum += (i - 64 + k) % 64;
    return sum;
  });
}

// --- functions that are called by their addresses, which differ between lanes
__device__ __attribute__((noinline)) void Increase(uint32_t* value) { *value += 5; }
__device__ __attribute__((noinline)) void Double(uint32_t* value) { *value *= 2; }
using Change = void (*)(uint32_t*);
__device__ Change changes[2] = {Increase, Double};
extern "C" __global__ void probe_pointers(uint32_t* values) {
  changes[threadIdx.x & 1](values + threadIdx.x);
}
void Pointers() {
  const Values out =
      OnDevice(Counting(64), [](uint32_t* memory) { probe_pointers<<<1, 64>>>(memory); });
  Expect("pointers", out, [](uint32_t i) { return i % 2 == 0 ? i + 5 : 2 * i; });
}

// --- pointers that lead to LDS in some lanes and to global memory in others
extern "C" __global__ void probe_flat(uint32_t* values) {
  __shared__ uint32_t part[64];
  part[threadIdx.x] = threadIdx.x;
  __syncthreads();
  uint32_t* const where = values[threadIdx.x] % 2 == 0 ? part + threadIdx.x : values + threadIdx.x;
  *static_cast<volatile uint32_t*>(where) = 7;
  __syncthreads();
  values[64 + threadIdx.x] = part[threadIdx.x];
}
void Flat() {
  const Values out =
      OnDevice(Counting(128), [](uint32_t* memory) { probe_flat<<<1, 64>>>(memory); });
  Expect("flat", out, [](uint32_t i) -> uint32_t {
    if (i < 64) return i % 2 == 0 ? i : 7;
    return i % 2 == 0 ? 7 : i - 64;
  });
}

// --- loads of the whole wave: from the same address, and from a constant
__constant__ uint32_t table[64] = {3, 1, 4, 1, 5, 9, 2, 6};
extern "C" __global__ void probe_uniform(uint32_t* values, const uint32_t* __restrict__ same) {
  values[threadIdx.x] = same[blockIdx.x] + table[threadIdx.x % 64] + table[blockIdx.x];
}
void Uniform() {
  const Values out = OnDevice(
      Counting(128), [](uint32_t* memory) { probe_uniform<<<1, 64>>>(memory, memory + 100); });
  constexpr uint32_t kFirst[8] = {3, 1, 4, 1, 5, 9, 2, 6};
  Expect("uniform", out,
         [&](uint32_t i) -> uint32_t { return i < 64 ? 103 + (i < 8 ? kFirst[i] : 0) : i; });
}

// --- three dimensions that do not divide evenly
extern "C" __global__ void probe_grid(uint32_t* values, uint3 size) {
  const uint32_t x = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t y = blockIdx.y * blockDim.y + threadIdx.y;
  const uint32_t z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < size.x && y < size.y && z < size.z)
    values[(z * size.y + y) * size.x + x] += x + 10 * y + 100 * z;
}
void Grid() {
  const uint3 size = {11, 5, 3};
  const Values out = OnDevice(Values(11 * 5 * 3, 0), [&](uint32_t* memory) {
    probe_grid<<<dim3(2, 2, 2), dim3(6, 4, 2)>>>(memory, size);
  });
  Expect("grid", out, [](uint32_t i) { return i % 11 + 10 * (i / 11 % 5) + 100 * (i / 55); });
}

// --- each address comes out of the last load
extern "C" __global__ void probe_chase(uint32_t* values, uint32_t steps) {
  uint32_t at = threadIdx.x;
  for (uint32_t i = 0; i < steps; ++i) at = values[at];
  values[256 + threadIdx.x] = at;
}
void Chase() {
  Values next(512);
  for (uint32_t i = 0; i < 256; ++i) next[i] = (i * 5 + 3) % 256;
  const Values out = OnDevice(next, [](uint32_t* memory) { probe_chase<<<1, 256>>>(memory, 9); });
  Expect("chase", out, [&](uint32_t i) {
    if (i < 256) return next[i];
    uint32_t at = i - 256;
    for (int k = 0; k < 9; ++k) at = next[at];
    return at;
  });
}

// --- a tile of a product of matrices
extern "C" __global__ void probe_matmul(const uint32_t* a, const uint32_t* b, uint32_t* c,
                                        uint32_t size) {
  __shared__ uint32_t left[16][16];
  __shared__ uint32_t right[16][17];
  const uint32_t row = blockIdx.y * 16 + threadIdx.y;
  const uint32_t column = blockIdx.x * 16 + threadIdx.x;
  uint32_t sum = 0;
  for (uint32_t tile = 0; tile < size; tile += 16) {
    left[threadIdx.y][threadIdx.x] = a[row * size + tile + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(tile + threadIdx.y) * size + column];
    __syncthreads();
    for (uint32_t k = 0; k < 16; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  c[row * size + column] = sum;
}
void Matmul() {
  constexpr uint32_t kSize = 32, kAll = kSize * kSize;
  const Values out = OnDevice(Counting(3 * kAll), [](uint32_t* memory) {
    probe_matmul<<<dim3(2, 2), dim3(16, 16)>>>(memory, memory + kAll, memory + 2 * kAll, kSize);
  });
  Expect("matmul", out, [](uint32_t i) {
    if (i < 2 * kAll) return i;
    const uint32_t row = (i - 2 * kAll) / kSize, column = i % kSize;
    uint32_t sum = 0;
    for (uint32_t k = 0; k < kSize; ++k) sum += (row * kSize + k) * (kAll + k * kSize + column);
    return sum;
  });
}

// --- values on the stack, whose address a function gets
__device__ __attribute__((noinline)) void Fill(uint32_t* to, uint32_t from) {
  for (uint32_t i = 0; i < 8; ++i) to[i] = from + i;
}
extern "C" __global__ void probe_stack(uint32_t* values) {
  uint32_t own[8];
  Fill(own, threadIdx.x);
  values[threadIdx.x] += own[values[threadIdx.x] % 8];
}
void Stack() {
  const Values out =
      OnDevice(Counting(64), [](uint32_t* memory) { probe_stack<<<1, 64>>>(memory); });
  Expect("stack", out, [](uint32_t i) { return i + i + i % 8; });
}

// --- the largest workgroup
extern "C" __global__ void __launch_bounds__(1024) probe_thousand(uint32_t* values) {
  __shared__ uint32_t part[1024];
  part[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = part[threadIdx.x ^ 1023];
}
void Thousand() {
  const Values out =
      OnDevice(Counting(1024), [](uint32_t* memory) { probe_thousand<<<1, 1024>>>(memory); });
  Expect("thousand", out, [](uint32_t i) { return i ^ 1023; });
}

// --- doubles, and a structure that is copied as a whole
struct Particle {
  float place[3];
  float speed[3];
  uint32_t id, age;
};
extern "C" __global__ void probe_structures(Particle* particles) {
  Particle mine = particles[threadIdx.x];
  for (int i = 0; i < 3; ++i) mine.place[i] += mine.speed[i];
  ++mine.age;
  particles[64 + threadIdx.x] = mine;
}
void Structures() {
  const Values out = OnDevice(Values(1024, 0), [](uint32_t* memory) {
    probe_structures<<<1, 64>>>(reinterpret_cast<Particle*>(memory));
  });
  Expect("structures", out, [](uint32_t i) { return i >= 512 && i % 8 == 7 ? 1u : 0u; });
}

// --- LDS that is written along rows and read along columns
extern "C" __global__ void probe_transpose(const uint32_t* in, uint32_t* out, uint32_t size) {
  __shared__ uint32_t tile[16][17];
  tile[threadIdx.y][threadIdx.x] =
      in[(blockIdx.y * 16 + threadIdx.y) * size + blockIdx.x * 16 + threadIdx.x];
  __syncthreads();
  out[(blockIdx.x * 16 + threadIdx.y) * size + blockIdx.y * 16 + threadIdx.x] =
      tile[threadIdx.x][threadIdx.y];
}
void Transpose() {
  constexpr uint32_t kSize = 32, kAll = kSize * kSize;
  const Values out = OnDevice(Counting(2 * kAll), [](uint32_t* memory) {
    probe_transpose<<<dim3(2, 2), dim3(16, 16)>>>(memory, memory + kAll, kSize);
  });
  Expect("transpose", out,
         [](uint32_t i) { return i < kAll ? i : (i - kAll) % kSize * kSize + (i - kAll) / kSize; });
}

// --- atomics of LDS that lead elsewhere in each lane
extern "C" __global__ void probe_histogram(const uint32_t* in, uint32_t* counts) {
  __shared__ uint32_t part[16];
  if (threadIdx.x < 16) part[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&part[in[blockIdx.x * 128 + threadIdx.x] * 7 % 16], 1);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&counts[threadIdx.x], part[threadIdx.x]);
}
void Histogram() {
  Values start = Counting(256);
  start.resize(272);
  const Values out =
      OnDevice(start, [](uint32_t* memory) { probe_histogram<<<2, 128>>>(memory, memory + 256); });
  Expect("histogram", out, [](uint32_t i) { return i < 256 ? i : 16u; });
}

// --- doubles, far apart
extern "C" __global__ void probe_strided(double* values, uint32_t stride) {
  values[threadIdx.x * stride] = values[threadIdx.x * stride] * 2 + 1;
}
void Strided() {
  const Values out = OnDevice(Values(2048, 0), [](uint32_t* memory) {
    probe_strided<<<1, 64>>>(reinterpret_cast<double*>(memory), 16);
  });
  Expect("strided", out, [](uint32_t i) { return i % 32 == 1 ? 0x3ff00000u : 0u; });
}

// --- copies and fills of known length
extern "C" __global__ void probe_copies(unsigned char* memory) {
  __builtin_memcpy(memory + 2048 + threadIdx.x * 24, memory + threadIdx.x * 24, 24);
  __builtin_memset(memory + 4096 + threadIdx.x * 8, 5, 8);
}
void Copies() {
  const Values out = OnDevice(Counting(2048), [](uint32_t* memory) {
    probe_copies<<<1, 64>>>(reinterpret_cast<unsigned char*>(memory));
  });
  Expect("copies", out, [](uint32_t i) -> uint32_t {
    if (i >= 512 && i < 512 + 384) return i - 512;
    return i >= 1024 && i < 1024 + 128 ? 0x05050505 : i;
  });
}

// --- neighbours that one instruction can load or store together, in global memory and in LDS
extern "C" __global__ void probe_neighbours(const uint32_t* __restrict__ in,
                                            uint32_t* __restrict__ out) {
  __shared__ uint32_t part[64 * 4];
  const uint32_t at = threadIdx.x * 4;
  const uint32_t a = in[at], b = in[at + 1], c = in[at + 2], d = in[at + 3];
  part[at] = a;
  part[at + 1] = b;
  part[at + 2] = c;
  part[at + 3] = d;
  __syncthreads();
  const uint32_t from = (63 - threadIdx.x) * 4;
  out[at] = part[from] + in[256];
  out[at + 1] = part[from + 1] + in[257];
  out[at + 2] = part[from + 2] + in[258];
  out[at + 3] = part[from + 3] + in[259];
}
void Neighbours() {
  const Values out = OnDevice(
      Counting(1024), [](uint32_t* memory) { probe_neighbours<<<1, 64>>>(memory, memory + 512); });
  Expect("neighbours", out, [](uint32_t i) {
    return i < 512 || i >= 768 ? i : (63 - (i - 512) / 4) * 4 + i % 4 + 256 + i % 4;
  });
}

// --- a load that every round of a loop repeats, and that needs to be done once
extern "C" __global__ void probe_invariant(const uint32_t* __restrict__ in,
                                           uint32_t* __restrict__ out, uint32_t rounds) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < rounds; ++i) sum += in[threadIdx.x + i * 64] * in[1000];
  out[threadIdx.x] = sum;
}
void Invariant() {
  const Values out = OnDevice(Counting(1100), [](uint32_t* memory) {
    probe_invariant<<<1, 64>>>(memory, memory + 1024, 5);
  });
  Expect("invariant", out,
         [](uint32_t i) { return i < 1024 || i >= 1088 ? i : (5 * (i - 1024) + 64 * 10) * 1000; });
}

// --- buffers, whose descriptor lets 50 of 64 lanes store
extern "C" __global__ void probe_buffers(uint32_t* memory, uint32_t bytes) {
#ifdef __HIP_DEVICE_COMPILE__
#ifdef __GFX9__
  constexpr int kFlags = 0x00027000;
#else
  constexpr int kFlags = 0x31016000;
#endif
  const auto buffer = __builtin_amdgcn_make_buffer_rsrc(memory, 0, bytes, kFlags);
  const uint32_t value = __builtin_amdgcn_raw_buffer_load_b32(buffer, threadIdx.x * 4, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b32(value + 1, buffer, 256 + threadIdx.x * 4, 0, 0);
#endif
}
void Buffers() {
  const Values out = OnDevice(
      Counting(128), [](uint32_t* memory) { probe_buffers<<<1, 64>>>(memory, 256 + 50 * 4); });
  Expect("buffers", out, [](uint32_t i) { return i >= 64 && i < 64 + 50 ? i - 63 : i; });
}

// --- only when it is asked for: the last of these stores goes where nothing is
extern "C" __global__ void probe_fault(uint32_t* values, uint64_t away) {
  for (uint32_t i = 0; i < 4; ++i) values[threadIdx.x + (i == 3 ? away : i)] = i;
}
void Fault() {
  OnDevice(Values(128, 0),
           [](uint32_t* memory) { probe_fault<<<1, 32>>>(memory, uint64_t{1} << 40); });
}

// --- only when it is asked for: so many loads, each by one lane of one of 50 waves
extern "C" __global__ void probe_many(const volatile uint32_t* values, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) (void)values[(i * 7 + blockIdx.x) % 64];
}
void Many(uint32_t count) {
  const Values out =
      OnDevice(Counting(64), [&](uint32_t* memory) { probe_many<<<50, 1>>>(memory, count / 50); });
  Expect("many", out, [](uint32_t i) { return i; });
}

int main(int argc, char** argv) {
  // Probes need stack in functions that call themselves, whose sum the compiler does not know.
  CHECK(hipDeviceSetLimit(hipLimitStackSize, 16384));
  const std::map<std::string, void (*)()> cases = {{"add", Add},
                                                   {"sizes", Sizes},
                                                   {"lds", Lds},
                                                   {"dynamic_lds", DynamicLds},
                                                   {"atomics", Atomics},
                                                   {"divergence", Divergence},
                                                   {"recursion", Recursion},
                                                   {"pointers", Pointers},
                                                   {"flat", Flat},
                                                   {"uniform", Uniform},
                                                   {"grid", Grid},
                                                   {"chase", Chase},
                                                   {"matmul", Matmul},
                                                   {"stack", Stack},
                                                   {"thousand", Thousand},
                                                   {"structures", Structures},
                                                   {"transpose", Transpose},
                                                   {"histogram", Histogram},
                                                   {"strided", Strided},
                                                   {"copies", Copies},
                                                   {"neighbours", Neighbours},
                                                   {"invariant", Invariant},
                                                   {"buffers", Buffers}};
  if (argc == 2 && std::string(argv[1]) == "fault") Fault();
  if (argc == 3 && std::string(argv[1]) == "many") {
    Many(static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10)));
    return 0;
  }
  if (argc < 2)
    for (const auto& [name, run] : cases) run();
  for (int i = 1; i < argc; ++i) {
    const auto found = cases.find(argv[i]);
    if (found == cases.end()) return 2;
    found->second();
  }
  return 0;
}
