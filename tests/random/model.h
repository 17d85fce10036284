// SPDX-License-Identifier: MIT
//
// What the runner and a generated file agree upon: a kernel's arguments, and the table of kernels
// that a model library exports as `extern "C" const Kernel* RandomModel()`, ended by one without a
// name. Included on both sides; no code.
#pragma once

#include "base.h"

namespace model {

using namespace base;

constexpr int kOutputs = 24;  // numbers that each thread may leave
constexpr int kMemory = 128;  // bytes that each thread may write as it likes
constexpr int kCells = 16;    // of each kind of atomic cells
constexpr int kInput = 5632;  // 256 each of 64-bit integers, doubles, floats and halves
constexpr int kPlace = 16;    // bytes of LDS for each thread

struct Cells {
  u32 u32s[kCells];
  u64 u64s[kCells];
  f32 f32s[kCells];
  f64 f64s[kCells];
};

struct Lds {
  alignas(16) u8 bytes[1024 * kPlace + 16];
  u64 own[1024];
  u32 u32s[kCells];
  u64 u64s[kCells];
};

struct Args {
  const u8* in;
  u64* out;
  u8* memory;
  Cells* cells;
  u64 integers[8];
  f64 doubles[8];
  f32 singles[8];
  u32 threads;  // of the whole grid
  u32 group_size;
  u32 shape[3];  // of a workgroup
};

struct Kernel {
  const char* seed;
  void (*run)(const Args& args, u32 wave_size, u32 generation);
  u32 groups;
  u32 shape[3];
};

}  // namespace model
