// SPDX-License-Identifier: MIT
//
// A program, and, with COPY, its kernel as omniprobe's plugin would instrument it: another name,
// one more argument, and messages as dh_comms writes them. Written by hand; the plugin itself needs
// another compiler.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <vector>

constexpr uint32_t kGroups = 3, kWorkgroup = 96, kRounds = 100;

#ifdef COPY
struct Descriptor {
  size_t buffers, buffer_bytes;
  char* memory;
  size_t* sizes;
  uint32_t* error_bits;
  uint8_t *wave_flags, *host_flags;
};

struct Header {
  uint64_t lanes, data, clock, file;
  uint32_t line, column, type, what;
  uint16_t group[3], place;
  uint8_t lane_count, target, unused[6];
};

__device__ __attribute__((noinline)) void Submit(Descriptor* to, const void* address, uint32_t what,
                                                 uint32_t line) {
  const uint64_t lanes = __builtin_amdgcn_read_exec();
  const uint32_t count = __popcll(lanes);
  const uint32_t me =
      __builtin_amdgcn_mbcnt_hi(static_cast<uint32_t>(lanes >> 32),
                                __builtin_amdgcn_mbcnt_lo(static_cast<uint32_t>(lanes), 0));
  // The number of workgroups is a hidden argument.
  const size_t buffer = (blockIdx.y * gridDim.x + blockIdx.x) % to->buffers;
  const uint64_t data = count * 4 + count * 8;
  const uint64_t bytes = sizeof(Header) + data;
  size_t size = 0;
  if (me == 0) {
    for (uint8_t free = 0; !__hip_atomic_compare_exchange_strong(
             &to->wave_flags[buffer], &free, uint8_t{1}, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED,
             __HIP_MEMORY_SCOPE_SYSTEM);
         free = 0) {
    }
    size = __hip_atomic_load(&to->sizes[buffer], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
    if (size + bytes > to->buffer_bytes) {
      __hip_atomic_store(&to->host_flags[buffer], uint8_t{1}, __ATOMIC_RELEASE,
                         __HIP_MEMORY_SCOPE_SYSTEM);
      while (__hip_atomic_load(&to->host_flags[buffer], __ATOMIC_ACQUIRE,
                               __HIP_MEMORY_SCOPE_SYSTEM) != 0) {
      }
      size = 0;
    }
  }
  size = static_cast<size_t>(__builtin_amdgcn_readfirstlane(static_cast<int>(size)));
  char* const at = to->memory + buffer * to->buffer_bytes + size;
  if (me == 0) {
    auto* const header = reinterpret_cast<Header*>(at);
    *header = {};
    header->lanes = lanes;
    header->data = data | uint64_t{3} << 62;
    header->file = 0x1234;
    header->line = line;
    header->column = 5;
    header->what = what;
    header->group[0] = blockIdx.x;
    header->place = threadIdx.x / __builtin_amdgcn_wavefrontsize();
    header->lane_count = count;
  }
  auto* const words = reinterpret_cast<uint32_t*>(at + sizeof(Header));
  const auto value = reinterpret_cast<uint64_t>(address);
  words[me] = threadIdx.x;
  words[count + me] = static_cast<uint32_t>(value);
  words[2 * count + me] = static_cast<uint32_t>(value >> 32);
  __threadfence_system();
  if (me == 0) {
    __hip_atomic_store(&to->sizes[buffer], size + bytes, __ATOMIC_RELEASE,
                       __HIP_MEMORY_SCOPE_SYSTEM);
    __hip_atomic_store(&to->wave_flags[buffer], uint8_t{0}, __ATOMIC_RELEASE,
                       __HIP_MEMORY_SCOPE_SYSTEM);
  }
}

extern "C" __global__ void __amd_crk_scalePv(uint32_t* values, uint32_t factor, void* messages) {
  auto* const to = static_cast<Descriptor*>(messages);
  uint32_t* const mine = values + blockIdx.x * blockDim.x + threadIdx.x;
  for (uint32_t i = 0; i < kRounds; ++i) {
    Submit(to, mine, 1 | 1 << 2 | 4 << 6, 7);
    Submit(to, mine, 2 | 1 << 2 | 4 << 6, 8);
    *mine += factor;
  }
}
#else
// Its runtime gives it no hidden argument: it uses none.
extern "C" __global__ void __launch_bounds__(kWorkgroup) scale(uint32_t* values, uint32_t factor) {
  uint32_t* const mine = values + blockIdx.x * kWorkgroup + threadIdx.x;
  for (uint32_t i = 0; i < kRounds; ++i) *mine += factor;
}

int main() {
  constexpr uint32_t kCount = kGroups * kWorkgroup;
  uint32_t* values = nullptr;
  std::vector<uint32_t> result(kCount);
  if (hipMalloc(&values, kCount * sizeof(uint32_t)) != hipSuccess ||
      hipMemset(values, 0, kCount * sizeof(uint32_t)) != hipSuccess)
    return 1;
  hipLaunchKernelGGL(scale, dim3(kGroups), dim3(kWorkgroup), 0, nullptr, values, 3u);
  if (hipMemcpy(result.data(), values, kCount * sizeof(uint32_t), hipMemcpyDeviceToHost) !=
      hipSuccess)
    return 1;
  for (const uint32_t value : result)
    if (value != 3 * kRounds) return 1;
  std::printf("right at %zx\n", reinterpret_cast<size_t>(values));
  return 0;
}
#endif
