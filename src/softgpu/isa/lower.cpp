// SPDX-License-Identifier: MIT
#include "softgpu/isa/lower.h"

#include <algorithm>
#include <bit>

#include "softgpu/isa/lane_types.h"
#include "softgpu/isa/tables.h"
#include "softgpu/isa/vector.h"

namespace rochound::softgpu {
namespace {

// The bits of a number written in the assembly text, as an operand of this type sees them.
uint64_t ConstantBits(const AsmOperand& operand, Ty type) {
  if (operand.kind == AsmOperand::Kind::kFloat) {
    if (type == Ty::kV2F32 || type == Ty::kV2B32)
      return std::bit_cast<uint32_t>(static_cast<float>(operand.real));
    if (Is64(type)) return std::bit_cast<uint64_t>(operand.real);
    if (Is16(type) || type == Ty::kV2F16) return FloatToHalf(static_cast<float>(operand.real));
    return std::bit_cast<uint32_t>(static_cast<float>(operand.real));
  }
  uint64_t integer = static_cast<uint64_t>(operand.integer);
  if (type == Ty::kImmediate) return integer;
  if (operand.kind == AsmOperand::Kind::kLiteral) {
    // A 32-bit literal in a 64-bit operand: upper half of a double, else extended.
    if (type == Ty::kF64) return integer >> 32 != 0 ? integer : integer << 32;
    if (type == Ty::kI64) return static_cast<uint64_t>(int64_t{static_cast<int32_t>(integer)});
    if (Is64(type) || type == Ty::kMask) return integer & 0xFFFFFFFF;
    return integer & 0xFFFFFFFF;
  }
  if (Is64(type) || type == Ty::kMask || type == Ty::kRaw) return integer;
  if (Is16(type)) return integer & 0xFFFF;
  return integer & 0xFFFFFFFF;
}

uint64_t SignBit(Ty type) {
  if (type == Ty::kF64) return uint64_t{1} << 63;
  return Is16(type) ? 0x8000 : 0x80000000;
}

bool LowerOperand(const AsmOperand& from, Ty type, ConstantRows* constants, Operand* to,
                  std::string* why) {
  to->negate = from.negate;
  to->absolute = from.absolute;
  to->sign_extend = from.sign_extend;
  to->dwords = from.dwords;
  to->index = from.index;
  switch (from.kind) {
    case AsmOperand::Kind::kVgpr:
      to->kind = Operand::Kind::kVector;
      break;
    case AsmOperand::Kind::kAgpr:
      to->kind = Operand::Kind::kVector;
      to->index = static_cast<uint16_t>(from.index + kFirstAgprRow);
      break;
    case AsmOperand::Kind::kSgpr:
      to->kind = from.index >= kScc ? Operand::Kind::kComputed : Operand::Kind::kScalar;
      break;
    case AsmOperand::Kind::kOff:
      to->kind = Operand::Kind::kOff;
      break;
    case AsmOperand::Kind::kInline:
    case AsmOperand::Kind::kLiteral:
    case AsmOperand::Kind::kFloat:
      to->kind = Operand::Kind::kConstant;
      to->value = ConstantBits(from, type);
      if (from.absolute) to->value &= ~SignBit(type);
      if (from.negate) to->value ^= SignBit(type);
      to->row = constants->Get(to->value, Is64(type));
      break;
    case AsmOperand::Kind::kText:
      if (type != Ty::kImmediate) {
        *why = "operand '" + from.text + "'";
        return false;
      }
      to->kind = Operand::Kind::kNone;  // the row reads the encoding
      break;
  }
  return true;
}

// True if nothing but the lane loop and the exec mask is needed.
bool IsPlain(const Op& op, const Architecture& architecture) {
  const Modifiers& m = op.modifiers();
  if (m.is_sdwa || m.is_dpp || m.is_dpp8 || m.op_sel != 0 || m.clamp || m.omod != 0 ||
      m.neg_lo != 0 || m.neg_hi != 0 || (op.row->flags & kIgnoresExec))
    return false;
  for (unsigned i = 0; i < op.operand_count; ++i) {
    Ty type = op.row->types[i];
    if (Is64(type) || type == Ty::kMask || type == Ty::kRaw || type == Ty::kImmediate) return false;
    if (i > 0 && IsPacked(type) && m.has_op_sel_hi && !(m.op_sel_hi >> (i - 1) & 1)) return false;
    bool is_constant = op.operand[i].kind == Operand::Kind::kConstant;
    if (!is_constant && (op.operand[i].negate || op.operand[i].absolute)) return false;
  }
  bool keeps_high = !architecture.zeroes_high_16 || (op.row->flags & kKeepsHigh16);
  return !(Is16(op.row->types[0]) && keeps_high);
}

bool LowerSingle(const AsmInstruction& instruction, const Architecture& architecture,
                 ConstantRows* constants, Op* op, std::string* why) {
  const Row* row = FindRow(architecture, instruction.mnemonic);
  if (row == nullptr) {
    *why = "not implemented: " + instruction.mnemonic;
    return false;
  }
  op->row = row;
  op->source = &instruction;
  op->exec = row->exec;
  op->lanes = row->lanes;
  op->operand_count = static_cast<uint8_t>(instruction.operands.size());
  if (!(row->flags & kNoEffect)) {
    if (instruction.operands.size() > kMaxOperands) {
      *why = "not implemented: too many operands in '" + instruction.text + "'";
      return false;
    }
    for (unsigned i = 0; i < kMaxOperands; ++i) {
      Ty type = row->types[i];
      bool present = i < instruction.operands.size();
      bool optional = type == Ty::kNone || type == Ty::kRaw || type == Ty::kImmediate;
      if ((present && type == Ty::kNone) || (!present && !optional)) {
        *why = "not implemented: this operand form of '" + instruction.text + "'";
        return false;
      }
      if (present &&
          !LowerOperand(instruction.operands[i], type, constants, &op->operand[i], why)) {
        *why = "not implemented: " + *why + " in '" + instruction.text + "'";
        return false;
      }
    }
  }
  if (row->flags & kBranches) {
    int64_t distance = static_cast<int16_t>(instruction.Simm16());
    op->target_address = op->next_address() + static_cast<uint64_t>(distance * 4);
  }
  if (row->prepare != nullptr && !row->prepare(instruction, architecture, op, why)) {
    *why = "not implemented: " + *why + " in '" + instruction.text + "'";
    return false;
  }
  if (op->exec == &ExecVector && IsPlain(*op, architecture)) {
    op->plain = true;
    op->exec = &ExecVectorPlain;
    UseRowForm(op);
  }
  return true;
}

// Both halves of a pair see the registers as they were before it.
const Op* ExecPair(Wave& wave, const Op* op) {
  const Op* first = &op->halves[0];
  const Op* second = &op->halves[1];
  first->exec(wave, first);
  second->exec(wave, second);
  return op + 1;
}

const Op* ExecPairKeepingFirst(Wave& wave, const Op* op) {
  const Op* first = &op->halves[0];
  const Op* second = &op->halves[1];
  uint32_t* row = wave.Row(first->operand[0].index);
  RowBuffer old;
  RowBuffer result;
  std::copy_n(row, kRowLanes, old.u32());
  first->exec(wave, first);
  std::copy_n(row, kRowLanes, result.u32());
  std::copy_n(old.u32(), kRowLanes, row);
  second->exec(wave, second);
  std::copy_n(result.u32(), kRowLanes, row);
  return op + 1;
}

bool LowerPair(const AsmInstruction& instruction, const Architecture& architecture,
               ConstantRows* constants, Op* op, std::string* why) {
  op->halves = std::make_unique<Op[]>(2);
  const AsmInstruction* sources[2] = {&instruction, &instruction.second[0]};
  for (unsigned i = 0; i < 2; ++i) {
    if (!LowerSingle(*sources[i], architecture, constants, &op->halves[i], why)) return false;
  }
  op->row = op->halves[0].row;
  op->source = &instruction;
  op->exec = &ExecPair;
  const Operand& written = op->halves[0].operand[0];
  const Op& second = op->halves[1];
  for (unsigned i = 1; i < second.operand_count; ++i) {
    const Operand& read = second.operand[i];
    if (read.kind == Operand::Kind::kVector && read.index == written.index)
      op->exec = &ExecPairKeepingFirst;
  }
  return true;
}

}  // namespace

const void* ConstantRows::Get(uint64_t value, bool wide) {
  std::unique_ptr<uint64_t[]>& row = rows_[{value, wide}];
  if (row == nullptr) {
    row = std::make_unique<uint64_t[]>(kRowLanes);
    uint64_t element = wide ? value : (value & 0xFFFFFFFF) | value << 32;
    for (unsigned i = 0; i < kRowLanes; ++i) row[i] = element;
  }
  return row.get();
}

bool LowerInstruction(const AsmInstruction& instruction, const Architecture& architecture,
                      ConstantRows* constants, Op* op, std::string* why) {
  auto* lower = instruction.second.empty() ? &LowerSingle : &LowerPair;
  return lower(instruction, architecture, constants, op, why);
}

}  // namespace rochound::softgpu
