// SPDX-License-Identifier: MIT
#include "softgpu/isa/semantics/float_lanes.h"

namespace rochound::softgpu {

const Op* RunVector(Wave& wave, const Op* op, LaneLoop loop, Ty mode, bool direct) {
  uint64_t lanes = wave.exec();
  if (lanes == 0) return op + 1;
  const auto& types = op->row->types;
  RowBuffer buffers[4];
  const void* sources[4] = {};
  unsigned count = 0;
  for (unsigned i = 1; i < kMaxOperands && types[i] != Ty::kNone; ++i, ++count)
    sources[count] = FetchSource(wave, op, i, count, types[i], &buffers[count], &lanes);
  if (op->row->flags & kAccumulates) {
    uint64_t ignored = ~uint64_t{0};
    sources[count] = FetchSource(wave, op, 0, kMaxOperands, types[0], &buffers[count], &ignored);
  }
  if (direct && lanes == wave.full_exec) {
    FloatMode float_mode(wave, mode);
    loop(wave.Row(op->operand[0].index), sources, wave.lanes);
    return op + 1;
  }
  RowBuffer result;
  {
    FloatMode float_mode(wave, mode);
    loop(&result, sources, wave.lanes);
  }
  if (lanes != 0) StoreResult(wave, op, 0, types[0], &result, lanes);
  return op + 1;
}

bool WritesDirectly(const AsmInstruction& instruction, const Architecture&, Op* op, std::string*) {
  const Modifiers& m = instruction.modifiers;
  op->imm2 = !m.is_sdwa && !m.clamp && m.omod == 0;
  return true;
}

bool RefuseSignsOnPairs(const AsmInstruction& instruction, const Architecture&, Op* op,
                        std::string* why) {
  for (unsigned i = 0; i < op->operand_count; ++i) {
    if (IsPacked(op->row->types[i]) &&
        (instruction.operands[i].negate || instruction.operands[i].absolute)) {
      *why = "abs or neg of a packed operand";
      return false;
    }
  }
  return true;
}

}  // namespace rochound::softgpu
