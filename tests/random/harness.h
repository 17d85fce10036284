// SPDX-License-Identifier: MIT
//
// The program around random kernels: each is run on the GPU and by the host's model (lanes.h), and
// whatever they left in memory is compared bit by bit. Included once by every generated file, which
// defines kernels and `kKernels`.
//
//   program [KERNEL...]     all kernels, or those with these positions in the file
//
// Prints, per kernel, `RUN position` before and `PASS position` after it, or up to three lines
//   DIFF seed=... kernel=... place=... expected=... got=...
// Exit code 0: all equal; 1: a difference; 2: HIP failed, or the model got stuck.
#pragma once

#include "arithmetic.h"

namespace harness {

using namespace arithmetic;

constexpr int kOutputs = 24;  // numbers that each thread may leave
constexpr int kMemory = 128;  // bytes that each thread may write as it likes
constexpr int kCells = 16;    // of each kind of atomic cells
constexpr int kInput = 5632;  // 256 each of 64-bit integers, doubles, floats and halves
constexpr int kLdsBytes = 256 * 16 + 16;

struct Cells {
  u32 u32s[kCells];
  u64 u64s[kCells];
  f32 f32s[kCells];
  f64 f64s[kCells];
};

struct Lds {
  alignas(16) u8 bytes[kLdsBytes];
  u32 u32s[kCells];
  u64 u64s[kCells];
};

struct Args {
  const u8* in;
  u64* out;
  u8* memory;
  Cells* cells;
  u64 numbers[8];
  u32 threads;  // of the whole grid
  u32 group_size;
};

// Where one value of a type stands in the input.
template <typename T>
HD T Input(const Args& args, u32 index) {
  index &= 255;
  if constexpr (std::is_same_v<T, f64>)
    return One(reinterpret_cast<const f64*>(args.in + 2048)[index]);
  else if constexpr (std::is_same_v<T, f32>)
    return One(reinterpret_cast<const f32*>(args.in + 4096)[index]);
  else if constexpr (std::is_same_v<T, f16>)
    return One(reinterpret_cast<const f16*>(args.in + 5120)[index]);
  else
    return T(reinterpret_cast<const u64*>(args.in)[index]);
}
HD const u8* InputAt(const Args& args, u32 offset, u32 alignment) {
  return args.in + (offset % (kInput - 64) & ~(alignment - 1));
}
template <typename T>
HD T Number(const Args& args, int index) {
  if constexpr (kReal<T>)
    return Convert<T>(i32(args.numbers[index]));
  else
    return T(args.numbers[index]);
}

using Body = void (*)(const Args&, Lds&, u32 thread, u32 group);
struct Kernel {
  const char* seed;
  void (*kernel)(Args);
  Body body;
  u32 groups;
  u32 shape[3];  // of a workgroup
};

struct Random {
  u64 state;
  u64 Next() {
    state += 0x9e3779b97f4a7c15ull;
    u64 z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
};

// Every kind of number: near zero, near the limits, near a power of two, anything.
inline u64 RandomInteger(Random& random) {
  const u64 bits = random.Next();
  switch (random.Next() % 6) {
    case 0:
      return bits % 33;
    case 1:
      return 0 - bits % 33;
    case 2:
      return (u64{1} << (bits & 63)) + (bits >> 8 & 7) - 3;
    case 3:
      return bits >> (bits & 63);
    default:
      return bits;
  }
}

template <typename T>
T RandomReal(Random& random, int mantissa, int bias) {
  const u64 sign = random.Next() & 1, top = sizeof(T) * 8 - 1;
  const u64 fraction = random.Next() & ((u64{1} << mantissa) - 1);
  const u64 special[] = {0,
                         1,
                         (u64{1} << mantissa) - 1,
                         u64{1} << mantissa,
                         u64(2 * bias) << mantissa,
                         u64(2 * bias + 1) << mantissa,
                         (u64(2 * bias + 1) << mantissa) | u64{1} << (mantissa - 1)};
  u64 bits;
  switch (random.Next() % 8) {
    case 0:
      bits = special[random.Next() % 7];
      break;
    case 1:
      bits = fraction;
      break;
    case 2:
      bits = (random.Next() % u64(2 * bias) << mantissa) | fraction;
      break;
    case 3:
      return T(i64(random.Next() % 41) - 20);
    case 4:
      return T((i64(random.Next() % 81) - 40) / 4.0);
    default:
      bits = ((bias - 6 + random.Next() % 13) << mantissa) | fraction;
      break;
  }
  return OfBits<T>(bits | sign << top);
}

struct Call {
  const Kernel* kernel;
  const Args* args;
  Lds* lds;
  u32 group;
};

#define HIP_MUST(call)                                           \
  do {                                                           \
    const hipError_t error_ = (call);                            \
    if (error_ != hipSuccess) {                                  \
      printf("FAIL %s: %s\n", #call, hipGetErrorString(error_)); \
      fflush(stdout);                                            \
      _Exit(2);                                                  \
    }                                                            \
  } while (0)

inline bool RunKernel(const Kernel& kernel, int position, u32 wave_size) {
  Random random{0};
  for (const char* c = kernel.seed; *c; ++c)
    random.state = random.state * 131 + static_cast<u8>(*c);
  std::vector<u8> input(kInput);
  for (int i = 0; i < 256; ++i) {
    const u64 integer = RandomInteger(random);
    const f64 f64_value = RandomReal<f64>(random, 52, 1023);
    const f32 f32_value = RandomReal<f32>(random, 23, 127);
    const f16 f16_value = RandomReal<f16>(random, 10, 15);
    memcpy(&input[8 * i], &integer, 8);
    memcpy(&input[2048 + 8 * i], &f64_value, 8);
    memcpy(&input[4096 + 4 * i], &f32_value, 4);
    memcpy(&input[5120 + 2 * i], &f16_value, 2);
  }
  const dim3 shape(kernel.shape[0], kernel.shape[1], kernel.shape[2]);
  const u32 group_size = shape.x * shape.y * shape.z, threads = group_size * kernel.groups;
  const size_t memory_at = sizeof(u64) * kOutputs * threads,
               cells_at = memory_at + size_t{kMemory} * threads;
  const size_t size = cells_at + sizeof(Cells);
  Args args{};
  for (u64& number : args.numbers) number = RandomInteger(random);
  args.threads = threads;
  args.group_size = group_size;

  std::vector<u64> host_words((size + 7) / 8, 0xA5A5A5A5A5A5A5A5ull);
  u8* host = reinterpret_cast<u8*>(host_words.data());
  Cells cells{};
  for (int i = 0; i < kCells; ++i) {
    cells.u32s[i] = static_cast<u32>(random.Next());
    cells.u64s[i] = random.Next();
  }
  memcpy(host + cells_at, &cells, sizeof(cells));
  std::vector<u8> got(size);

  u8 *device_in, *device_out;
  HIP_MUST(hipMalloc(&device_in, kInput));
  HIP_MUST(hipMalloc(&device_out, size));
  HIP_MUST(hipMemcpy(device_in, input.data(), kInput, hipMemcpyHostToDevice));
  HIP_MUST(hipMemcpy(device_out, host, size, hipMemcpyHostToDevice));
  const auto aim = [&](const u8* in, u8* out) {
    args.in = in;
    args.out = reinterpret_cast<u64*>(out);
    args.memory = out + memory_at;
    args.cells = reinterpret_cast<Cells*>(out + cells_at);
  };
  aim(device_in, device_out);
  kernel.kernel<<<dim3(kernel.groups), shape>>>(args);
  HIP_MUST(hipGetLastError());
  HIP_MUST(hipDeviceSynchronize());
  HIP_MUST(hipMemcpy(got.data(), device_out, size, hipMemcpyDeviceToHost));
  HIP_MUST(hipFree(device_in));
  HIP_MUST(hipFree(device_out));

  aim(input.data(), host);
  static Lds lds;
  for (u32 group = 0; group < kernel.groups; ++group) {
    memset(&lds, 0, sizeof(lds));
    Call call{&kernel, &args, &lds, group};
    lanes::RunGroup(
        group_size, wave_size,
        [](void* data, u32 thread) {
          const Call& now = *static_cast<Call*>(data);
          now.kernel->body(*now.args, *now.lds, thread, now.group);
        },
        &call);
  }

  int shown = 0;
  for (size_t at = 0; at < size && shown < 3; at += at < memory_at ? 8 : 1) {
    char place[80];
    u64 expected = 0, found = 0;
    if (at < memory_at) {
      memcpy(&expected, host + at, 8);
      memcpy(&found, &got[at], 8);
      snprintf(place, sizeof(place), "out[%zu].thread[%zu]", at / 8 / threads, at / 8 % threads);
    } else {
      expected = host[at];
      found = got[at];
      if (at < cells_at) {
        snprintf(place, sizeof(place), "memory[%zu].thread[%zu]", (at - memory_at) % kMemory,
                 (at - memory_at) / kMemory);
      } else {
        snprintf(place, sizeof(place), "cells[byte%zu]", at - cells_at);
      }
    }
    if (expected == found) continue;
    printf("DIFF seed=%s kernel=%d place=%s expected=%#llx got=%#llx\n", kernel.seed, position,
           place, static_cast<unsigned long long>(expected),
           static_cast<unsigned long long>(found));
    ++shown;
  }
  if (shown == 0) printf("PASS %d\n", position);
  fflush(stdout);
  return shown == 0;
}

inline int Main(const Kernel* kernels, int count, int argc, char** argv) {
  hipDeviceProp_t properties;
  HIP_MUST(hipGetDeviceProperties(&properties, 0));
  // What calls by pointer and recursion need cannot be known to the compiler; at -O0 their frames
  // are large.
  HIP_MUST(hipDeviceSetLimit(hipLimitStackSize, 24 << 10));
  bool equal = true;
  for (int position = 0; position < count; ++position) {
    bool wanted = argc < 2;
    for (int i = 1; i < argc; ++i) wanted |= atoi(argv[i]) == position;
    if (!wanted) continue;
    printf("RUN %d\n", position);
    fflush(stdout);
    equal &= RunKernel(kernels[position], position, properties.warpSize);
  }
  return equal ? 0 : 1;
}

}  // namespace harness

// In a generated file: HD void Body7(const Args&, Lds&, u32 thread, u32 group) {...}; KERNEL(7)
#define KERNEL(name)                                                                           \
  __global__ void Kernel##name(Args args) {                                                    \
    __shared__ Lds lds;                                                                        \
    Body##name(args, lds, threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), \
               blockIdx.x);                                                                    \
  }
