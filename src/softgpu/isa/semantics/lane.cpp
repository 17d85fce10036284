// SPDX-License-Identifier: MIT
//
// Vector instructions that look beyond their own lane or register: readlane and writelane,
// permutations inside a row, swaps, registers picked by M0; and the ones that do nothing.
#include <algorithm>
#include <bit>

#include "softgpu/isa/semantics/register_index.h"
#include "softgpu/isa/tables.h"
#include "softgpu/isa/vector.h"

namespace rochound::softgpu {
namespace {

const Op* ExecNothing(Wave&, const Op* op) { return op + 1; }

uint32_t ReadLane(const Wave& wave, const Operand& operand, unsigned lane) {
  if (operand.kind == Operand::Kind::kVector) return wave.Row(operand.index)[lane];
  return ReadScalar32(wave, operand);
}

const Op* ExecReadFirstLane(Wave& wave, const Op* op) {
  uint64_t exec = wave.exec();
  unsigned lane = exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec));
  WriteScalar32(wave, op->operand[0], ReadLane(wave, op->operand[1], lane));
  return op + 1;
}

// The lane may be one that is off.
const Op* ExecReadLane(Wave& wave, const Op* op) {
  unsigned lane = ReadScalar32(wave, op->operand[2]) & (wave.lanes - 1u);
  WriteScalar32(wave, op->operand[0], ReadLane(wave, op->operand[1], lane));
  return op + 1;
}

const Op* ExecWriteLane(Wave& wave, const Op* op) {
  unsigned lane = ReadScalar32(wave, op->operand[2]) & (wave.lanes - 1u);
  wave.Row(op->operand[0].index)[lane] = ReadScalar32(wave, op->operand[1]);
  return op + 1;
}

// op_sel[0] is "fetch inactive" and op_sel[1] "bound control": without the first, a lane whose
// source is off keeps its old value, or gets zero with the second.
template <unsigned RowFlip>
const Op* ExecPermuteRow(Wave& wave, const Op* op) {
  uint64_t exec = wave.exec();
  bool fetch_inactive = op->modifiers().op_sel & 1;
  bool bound_control = op->modifiers().op_sel & 2;
  uint64_t select =
      ReadScalar32(wave, op->operand[2]) | uint64_t{ReadScalar32(wave, op->operand[3])} << 32;
  RowBuffer result;
  uint64_t lanes = exec;
  for (unsigned i = 0; i < wave.lanes; ++i) {
    unsigned from = ((i & ~15u) ^ RowFlip) + static_cast<unsigned>(select >> (4 * (i & 15)) & 15);
    bool valid = fetch_inactive || (exec >> from & 1);
    result.u32()[i] = valid ? ReadLane(wave, op->operand[1], from) : 0;
    if (!valid && !bound_control) lanes &= ~(uint64_t{1} << i);
  }
  Blend(wave.Row(op->operand[0].index), result.u32(), lanes, wave.lanes);
  return op + 1;
}

void Swap(Wave& wave, unsigned first, unsigned second) {
  RowBuffer old;
  uint64_t exec = wave.exec();
  std::copy_n(wave.Row(first), wave.lanes, old.u32());
  Blend(wave.Row(first), wave.Row(second), exec, wave.lanes);
  Blend(wave.Row(second), old.u32(), exec, wave.lanes);
}

const Op* ExecSwap(Wave& wave, const Op* op) {
  Swap(wave, op->operand[0].index, op->operand[1].index);
  return op + 1;
}

// Rows of 16 lanes, or halves of the wave: the odd ones of the first register change places with
// the even ones of the second. A lane whose partner is off is treated as by DPP: FI reads it
// anyway, BOUND_CTRL gives zero, else the lane keeps its value.
template <unsigned kSpan>
const Op* ExecSwapRows(Wave& wave, const Op* op) {
  uint64_t exec = wave.exec();
  uint32_t* first = wave.Row(op->operand[0].index);
  uint32_t* second = wave.Row(op->operand[1].index);
  bool fetch_inactive = op->imm & 1;
  bool bound_control = op->imm & 2;
  for (unsigned i = 0; i < wave.lanes; ++i) {
    if (i & kSpan) continue;
    unsigned odd = i + kSpan;
    uint32_t to_first = second[i];
    uint32_t to_second = first[odd];
    bool even_on = exec >> i & 1;
    bool odd_on = exec >> odd & 1;
    if (odd_on && (even_on || fetch_inactive || bound_control))
      first[odd] = even_on || fetch_inactive ? to_first : 0;
    if (even_on && (odd_on || fetch_inactive || bound_control))
      second[i] = odd_on || fetch_inactive ? to_second : 0;
  }
  return op + 1;
}

// The VOP3 form has FI and BOUND_CTRL in the place of op_sel.
bool PrepareSwapRows(const AsmInstruction& instruction, const Architecture&, Op* op, std::string*) {
  op->imm = instruction.size == 8 ? instruction.words[0] >> 11 & 3 : 0;
  return true;
}

template <unsigned kSpan>
constexpr Row SwapRows(std::string_view mnemonic) {
  return {mnemonic, &ExecSwapRows<kSpan>, {Ty::kB32, Ty::kB32}, nullptr, 0,
          kGfx950,  &PrepareSwapRows};
}

const Op* ExecSwapRelative(Wave& wave, const Op* op) {
  uint32_t m0 = wave.sgpr[kM0];
  uint32_t source = op->operand[1].index + (m0 & 0x3FF);
  uint32_t destination = op->operand[0].index + (m0 >> 16 & 0x3FF);
  if (source >= kVectorRegisters || destination >= kVectorRegisters)
    return wave.StopIllegal(op, "register out of range in '" + op->source->text + "'");
  Swap(wave, destination, source);
  return op + 1;
}

const Op* ExecMoveRelativeSource(Wave& wave, const Op* op) {
  return ExecMovedBy(wave, op, wave.sgpr[kM0], 0);
}
const Op* ExecMoveRelativeDestination(Wave& wave, const Op* op) {
  return ExecMovedBy(wave, op, 0, wave.sgpr[kM0]);
}
const Op* ExecMoveRelativeBoth(Wave& wave, const Op* op) {
  return ExecMovedBy(wave, op, wave.sgpr[kM0], wave.sgpr[kM0]);
}
const Op* ExecMoveRelativeBoth2(Wave& wave, const Op* op) {
  return ExecMovedBy(wave, op, wave.sgpr[kM0] & 0x3FF, wave.sgpr[kM0] >> 16 & 0x3FF);
}

constexpr Row Nothing(std::string_view mnemonic, uint32_t targets = kAllTargets) {
  return {mnemonic, &ExecNothing, {}, nullptr, kNoEffect, targets};
}

constexpr Row MoveRelative(std::string_view mnemonic, Exec exec) {
  return {mnemonic,
          exec,
          {Ty::kB32, Ty::kB32},
          LanesOf<[](uint32_t a) { return a; }, Ty::kB32, Ty::kB32>(),
          0,
          kRdnaTargets};
}

constexpr Row kRows[] = {
    Nothing("v_nop"),
    Nothing("v_clrexcp"),
    Nothing("v_pipeflush", kRdnaTargets),
    {"v_readfirstlane_b32", &ExecReadFirstLane, {Ty::kB32, Ty::kB32}},
    {"v_readlane_b32", &ExecReadLane, {Ty::kB32, Ty::kB32, Ty::kB32}},
    {"v_writelane_b32", &ExecWriteLane, {Ty::kB32, Ty::kB32, Ty::kB32}},
    {"v_permlane16_b32",
     &ExecPermuteRow<0>,
     {Ty::kB32, Ty::kB32, Ty::kB32, Ty::kB32},
     nullptr,
     0,
     kRdnaTargets},
    {"v_permlanex16_b32",
     &ExecPermuteRow<16>,
     {Ty::kB32, Ty::kB32, Ty::kB32, Ty::kB32},
     nullptr,
     0,
     kRdnaTargets},
    {"v_swap_b32", &ExecSwap, {Ty::kB32, Ty::kB32}},
    SwapRows<16>("v_permlane16_swap_b32"),
    SwapRows<32>("v_permlane32_swap_b32"),
    {"v_swaprel_b32", &ExecSwapRelative, {Ty::kB32, Ty::kB32}, nullptr, 0, kRdnaTargets},
    MoveRelative("v_movrels_b32", &ExecMoveRelativeSource),
    MoveRelative("v_movreld_b32", &ExecMoveRelativeDestination),
    MoveRelative("v_movrelsd_b32", &ExecMoveRelativeBoth),
    MoveRelative("v_movrelsd_2_b32", &ExecMoveRelativeBoth2),
};

}  // namespace

std::span<const Row> LaneRows() { return kRows; }

}  // namespace rochound::softgpu
