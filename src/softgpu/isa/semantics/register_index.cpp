// SPDX-License-Identifier: MIT
#include "softgpu/isa/semantics/register_index.h"

#include <algorithm>

#include "softgpu/isa/code_cache.h"
#include "softgpu/isa/vector.h"

namespace rochound::softgpu {
namespace {

constexpr uint32_t kIndexEnable = 1u << 27;  // in MODE
constexpr unsigned kDestinationBit = 3;      // of the four mode bits, M0[15:12]
// Compiled code has one or two instructions in the mode; a program that stays is broken.
constexpr unsigned kMaxIndexedInstructions = 1u << 16;

void CopyOp(const Op& from, Op* to) {
  to->exec = from.exec;
  to->lanes = from.lanes;
  to->row = from.row;
  to->source = from.source;
  std::copy(std::begin(from.operand), std::end(from.operand), to->operand);
  to->operand_count = from.operand_count;
  to->plain = from.plain;
  to->imm = from.imm;
  to->imm2 = from.imm2;
}

void ShiftSource(Operand* operand, uint32_t shift) {
  if (operand->kind != Operand::Kind::kVector) return;
  uint32_t index = operand->index + shift;
  operand->index = static_cast<uint16_t>(index < kVectorRegisters ? index : 0);
}

// False if the destination does not exist.
bool ShiftDestination(Operand* operand, uint32_t shift) {
  if (operand->kind != Operand::Kind::kVector) return true;
  uint32_t index = operand->index + shift;
  operand->index = static_cast<uint16_t>(index);
  return index < kVectorRegisters;
}

bool CanIndex(const Op* op) {
  const Modifiers& m = op->modifiers();
  bool is_vector = op->exec == &ExecVector || op->plain;
  return is_vector && !m.is_dpp && !m.is_dpp8 && !m.is_sdwa && !(op->row->flags & kAccumulates);
}

// Runs one vector instruction with its operands moved as M0 says.
const Op* RunIndexed(Wave& wave, const Op* op) {
  if (!CanIndex(op))
    return wave.StopIllegal(op, "not implemented: '" + op->source->text + "' in VGPR index mode");
  uint32_t index = wave.sgpr[kM0] & 0xFF;
  uint32_t which = wave.sgpr[kM0] >> 12 & 0xF;
  Op moved;
  CopyOp(*op, &moved);
  if (moved.plain) moved.exec = &ExecVectorPlain;  // which looks at the operands
  bool has_destination = true;
  if (which >> kDestinationBit & 1) has_destination = ShiftDestination(&moved.operand[0], index);
  for (unsigned i = 1; i < op->operand_count; ++i)
    if (which >> (i - 1) & 1) ShiftSource(&moved.operand[i], index);
  if (has_destination) moved.exec(wave, &moved);
  return op + 1;
}

void SetIndex(Wave& wave, const Op* op) {
  uint32_t which = op->source->words[0] >> 8 & 0xF;
  uint32_t index = ReadScalar32(wave, op->operand[0]) & 0xFF;
  wave.sgpr[kM0] = (wave.sgpr[kM0] & ~0xF0FFu) | which << 12 | index;
  wave.mode |= kIndexEnable;
}

}  // namespace

const Op* ExecMovedBy(Wave& wave, const Op* op, uint32_t source_shift, uint32_t destination_shift) {
  Op moved;
  CopyOp(*op, &moved);
  ShiftSource(&moved.operand[1], source_shift);
  if (ShiftDestination(&moved.operand[0], destination_shift)) ExecVector(wave, &moved);
  return op + 1;
}

const Op* ExecGprIndexOn(Wave& wave, const Op* op) {
  SetIndex(wave, op);
  ++op;
  for (unsigned count = 0; count < kMaxIndexedInstructions; ++count) {
    const Op* current = op;
    if (current->source->mnemonic.starts_with("v_")) {
      op = RunIndexed(wave, current);
    } else if (current->row->exec == &ExecGprIndexOn) {
      SetIndex(wave, current);
      op = current + 1;
    } else if (current->target_address != 0 && current->source->mnemonic.empty()) {
      op = TakeBranch(wave, current);  // where decoded code goes on in another block
    } else {
      op = current->exec(wave, current);
    }
    if (op == nullptr) {
      if (wave.stop != StopReason::kBarrier && wave.stop != StopReason::kYield) return nullptr;
      return wave.StopIllegal(
          current, "not implemented: '" + current->source->text + "' in VGPR index mode");
    }
    if (!(wave.mode & kIndexEnable)) return op;
  }
  return wave.StopIllegal(op, "not implemented: VGPR index mode without end");
}

const Op* ExecGprIndexOff(Wave& wave, const Op* op) {
  wave.mode &= ~kIndexEnable;
  return op + 1;
}

const Op* ExecGprIndexMode(Wave& wave, const Op* op) {
  wave.sgpr[kM0] = (wave.sgpr[kM0] & ~0xF000u) | (op->source->words[0] & 0xFu) << 12;
  return op + 1;
}

const Op* ExecGprIndexIdx(Wave& wave, const Op* op) {
  wave.sgpr[kM0] = (wave.sgpr[kM0] & ~0xFFu) | (ReadScalar32(wave, op->operand[0]) & 0xFF);
  return op + 1;
}

}  // namespace rochound::softgpu
