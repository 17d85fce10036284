// SPDX-License-Identifier: MIT
//
// The classes that executed instructions are counted in, and what is known of an instruction from
// its text alone. Facts are made once per decoded instruction, by whichever thread meets it first,
// kept for the process's life and shared by all: many instructions have the same ones.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "softgpu/counters/arithmetic.h"
#include "softgpu/isa/op.h"
#include "softgpu/isa/semantics/memory_trace.h"

namespace rochound::softgpu {

// The names in JSON are in instruction_class.cpp; the C interface numbers them in this order, so
// new ones go to the end.
enum class InstructionClass : uint8_t {
  kSalu,
  kSmem,
  kValu,
  kValuTranscendental,
  kMatrix,
  kLdsLoad,
  kLdsStore,
  kLdsAtomic,
  kLdsExchange,  // permutes and swizzles: LDS's crossbar, not its memory
  kGlobalLoad,
  kGlobalStore,
  kGlobalAtomic,
  kFlatLoad,
  kFlatStore,
  kFlatAtomic,
  kScratchLoad,
  kScratchStore,
  kScratchAtomic,
  kBufferLoad,
  kBufferStore,
  kBufferAtomic,
  kBranch,
  kBarrier,
  kWait,
  kOther,
};
inline constexpr unsigned kInstructionClasses = 25;
std::string_view NameOf(InstructionClass instruction_class);

enum class MemoryAction : uint8_t { kNone, kLoad, kStore, kAtomic };
inline constexpr unsigned kMemoryActions = 3;  // the last three

// What the cost model distinguishes beyond the class.
enum class CostKind : uint8_t {
  kPlain,
  kDouble,       // 64-bit floating point
  kWideInteger,  // 32-bit multiplications, 64-bit integer VALU
  kTranscendental,
  kTranscendentalDouble,
  kMatrix,
};

// Element types of matrix instructions, by the rate that hardware has for them.
enum class MatrixKind : uint8_t { kF64, kF32, kXF32, kF16, kInt8, kInt4 };
inline constexpr unsigned kMatrixKinds = 6;

struct OpFacts {
  uint32_t id = 0;  // dense: an index into arrays of sums
  std::string mnemonic;
  InstructionClass instruction_class = InstructionClass::kOther;
  MemoryAction action = MemoryAction::kNone;
  AddressForm form = AddressForm::kNone;
  uint8_t bytes = 0;  // per lane and place; of the scalar unit as a whole
  CostKind cost = CostKind::kPlain;
  MatrixKind matrix_kind = MatrixKind::kF32;
  uint32_t multiplications = 0;          // of a matrix instruction
  std::array<Arithmetic, 2> arithmetic;  // the second: of a VOPD pair
  bool is_vector = false;                // has lanes
  bool is_dual = false;                  // VOPD: two operations, one instruction
  bool to_lds = false;                   // a load whose data goes to LDS
  bool writes_exec = false;
  bool is_exec_branch = false;   // conditional on EXEC
  bool is_arrival = false;       // a wave arrives at a barrier
  bool is_unmeasured = false;    // moves memory in a way that is not counted
  bool is_continuation = false;  // no instruction: leads to the next decoded block
};

// Remembered in the op.
const OpFacts& FactsOf(const Op& op);

// The same from the text; `writes_exec` and `to_lds` come from operands and modifiers.
OpFacts DescribeMnemonic(std::string_view mnemonic);

// All facts there are, by id. A snapshot: more may come.
std::vector<const OpFacts*> AllFacts();

// In the child after fork, where all code is decoded anew: another thread may have held the lock.
void AbandonFactsAfterFork();

}  // namespace rochound::softgpu
