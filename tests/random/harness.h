// SPDX-License-Identifier: MIT
//
// What stands around random kernels. Included once by every generated file, which defines the
// bodies of kernels and a table of them: on the device they become kernels, on the host a library
// whose RandomModel() the runner (runner.cpp) asks for what is to be expected. All memory that a
// kernel may write is compared bit by bit.
#pragma once

#include "arithmetic.h"
#include "atomics.h"
#include "lanes.h"
#include "memory.h"
#include "model.h"

namespace harness {

using namespace arithmetic;
using namespace atomics;
using namespace memory;
using namespace model;
using lanes::Barrier;

// Where one value of a type is in the input.
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
// The same for all work items, in scalar registers.
template <typename T>
HD T Number(const Args& args, int index) {
  if constexpr (std::is_same_v<T, f64>)
    return One(args.doubles[index]);
  else if constexpr (kReal<T>)
    return One(T(args.singles[index]));
  else
    return T(args.integers[index]);
}
// Keeps a value in the work item's sum, so that the compiler cannot do without it.
template <int kPlace, typename T>
HD T Keep(u64& kept, T value) {
  const u64 bits = Result(value);
  kept += bits << (kPlace & 63) | bits >> ((64 - kPlace) & 63);
  return value;
}

#if ON_DEVICE
#define KERNEL(name, most)                                                                      \
  extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1, most))) void \
  Kernel##name(Args args) {                                                                     \
    static __attribute__((shared)) Lds lds;                                                     \
    Body##name(args, lds,                                                                       \
               __builtin_amdgcn_workitem_id_x() +                                               \
                   args.shape[0] * (__builtin_amdgcn_workitem_id_y() +                          \
                                    args.shape[1] * __builtin_amdgcn_workitem_id_z()),          \
               __builtin_amdgcn_workgroup_id_x());                                              \
  }
#define KERNELS(...)
#else
using Body = void (*)(const Args&, Lds&, u32 thread, u32 group);
struct Call {
  Body body;
  const Args* args;
  Lds* lds;
  u32 group;
};
inline void RunModel(Body body, const Args& args, u32 wave_size, u32 generation) {
  static Lds lds;
  for (u32 group = 0; group < args.threads / args.group_size; ++group) {
    __builtin_memset(&lds, 0, sizeof(lds));
    Call call{body, &args, &lds, group};
    lanes::RunGroup(
        args.group_size, wave_size, generation,
        [](void* data, u32 thread) {
          const Call& now = *static_cast<Call*>(data);
          now.body(*now.args, *now.lds, thread, now.group);
        },
        &call);
  }
}
#define KERNEL(name, most)                                                   \
  static void Model##name(const Args& args, u32 wave_size, u32 generation) { \
    RunModel(Body##name, args, wave_size, generation);                       \
  }
#define KERNELS(...)                                  \
  static const Kernel kKernels[] = {__VA_ARGS__, {}}; \
  extern "C" __attribute__((visibility("default"))) const Kernel* RandomModel() { return kKernels; }
#endif

}  // namespace harness
