// SPDX-License-Identifier: MIT
//
// An instruction made ready to run, and the table row it was made from. A row says, once, how a
// mnemonic's operands are typed and which function runs it; adding an instruction is adding a row
// (semantics/*.cpp). Ops are built once by the code cache, are immutable afterwards (but for what
// is remembered at its first use) and are shared by all waves.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "softgpu/isa/architecture.h"
#include "softgpu/isa/instruction.h"

namespace rochound::softgpu {

struct Op;
struct OpFacts;
struct Wave;

// Runs one op and returns the next one; nullptr when the wave stopped (Wave::Stop was called).
using Exec = const Op* (*)(Wave & wave, const Op* op);

// The lane loop of a vector op: rows of 32-bit or 64-bit elements in and out, by the row's types.
// `dst` may be the same row as a source, never a shifted one. Runs for all lanes; the caller masks.
using LaneLoop = void (*)(void* dst, const void* const* src, unsigned lanes);

// How an operand is read: decides register width, what a constant's bits are, and what abs, neg,
// clamp and omod mean.
enum class Ty : uint8_t {
  kNone,
  kB32,
  kU32,
  kI32,
  kF32,
  kB64,
  kU64,
  kI64,
  kF64,
  kB16,
  kU16,
  kI16,
  kF16,
  kBF16,  // low half of a 32-bit register, or the high one by op_sel
  kV2I16,
  kV2F16,  // both halves
  kV2F32,
  kV2B32,      // a pair of registers (pk_fma_f32)
  kMask,       // one bit per lane: a scalar pair in wave64, one in wave32
  kRaw,        // registers as they are, any number of them: memory data, MFMA
  kImmediate,  // a field of the encoding
};

constexpr bool Is64(Ty ty) {
  return ty == Ty::kB64 || ty == Ty::kU64 || ty == Ty::kI64 || ty == Ty::kF64 || ty == Ty::kV2F32 ||
         ty == Ty::kV2B32;
}
constexpr bool Is16(Ty ty) {
  return ty == Ty::kB16 || ty == Ty::kU16 || ty == Ty::kI16 || ty == Ty::kF16 || ty == Ty::kBF16;
}
constexpr bool IsPacked(Ty ty) {
  return ty == Ty::kV2I16 || ty == Ty::kV2F16 || ty == Ty::kV2F32 || ty == Ty::kV2B32;
}
constexpr bool IsFloat(Ty ty) {
  return ty == Ty::kF32 || ty == Ty::kF64 || ty == Ty::kF16 || ty == Ty::kBF16 ||
         ty == Ty::kV2F16 || ty == Ty::kV2F32;
}

inline constexpr unsigned kMaxOperands = 7;

// The unified register file of a wave: AGPR n is row kFirstAgprRow + n. The gaps take the overrun
// of a malformed register range.
inline constexpr unsigned kFirstAgprRow = 288;
inline constexpr unsigned kRegisterRows = 576;
inline constexpr unsigned kRowLanes = 64;

struct Operand {
  enum class Kind : uint8_t { kNone, kVector, kScalar, kConstant, kComputed, kOff };
  Kind kind = Kind::kNone;
  bool negate = false;
  bool absolute = false;
  bool sign_extend = false;
  uint8_t dwords = 1;
  uint16_t index = 0;         // row of the register file, or ScalarRegister
  uint64_t value = 0;         // constant in the operand's type; modifiers already applied
  const void* row = nullptr;  // constant repeated for all lanes: uint32_t or uint64_t elements
};

enum RowFlag : uint32_t {
  kAccumulates = 1u << 0,  // the destination is also the last source of the lane loop (fmac)
  kKeepsHigh16 = 1u << 1,  // on targets that clear the upper half, this one does not
  kEndsBlock = 1u << 2,    // nothing is decoded after it
  kBranches = 1u << 3,     // simm16 is a branch distance; Op::target_address is set
  kNoEffect = 1u << 4,     // waits, hints and cache controls: nothing to see in memory or registers
  kIgnoresExec = 1u << 5,  // acts for all lanes
};

struct Row {
  std::string_view mnemonic;
  Exec exec = nullptr;
  std::array<Ty, kMaxOperands> types{};  // in the order of the assembly text
  LaneLoop lanes = nullptr;
  uint32_t flags = 0;
  uint32_t targets = kAllTargets;
  // Fills Op::imm and the like at decode time; false with *why set refuses the instruction.
  bool (*prepare)(const AsmInstruction&, const Architecture&, Op*, std::string* why) = nullptr;
};

struct Op {
  Exec exec = nullptr;
  LaneLoop lanes = nullptr;
  const Row* row = nullptr;
  const AsmInstruction* source = nullptr;
  int64_t imm = 0;  // meaning is the row's
  uint64_t imm2 = 0;
  uint8_t operand_count = 0;
  bool plain = false;  // vector op without DPP, SDWA, op_sel, abs, neg, clamp, omod
  Operand operand[kMaxOperands];
  uint64_t target_address = 0;
  mutable std::atomic<const Op*> target{nullptr};      // resolved at the first taken branch
  std::unique_ptr<Op[]> halves;                        // the two of a VOPD pair
  mutable std::atomic<const OpFacts*> facts{nullptr};  // the counters', once they have seen it

  Op() = default;
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  uint64_t address() const { return source->address; }
  uint64_t next_address() const { return source->address + source->size; }
  const Modifiers& modifiers() const { return source->modifiers; }
};

}  // namespace rochound::softgpu
