// SPDX-License-Identifier: MIT
//
// gfx950's reads from LDS that transpose: ds_read_b64_tr_b16, _b8, _b4 and ds_read_b96_tr_b6. The
// lanes work in groups of 16. Each reads its bytes; together they are rows of 16 elements, one row
// after the other, and a lane gets one column. All lanes must be on, as the manual demands.
#include "softgpu/isa/semantics/lane_memory.h"
#include "softgpu/isa/tables.h"

namespace rochound::softgpu {
namespace {

constexpr unsigned kGroup = 16;

template <unsigned kElementBits, unsigned kDwords>
const Op* ExecTranspose(Wave& wave, const Op* op) {
  constexpr unsigned kElements = 32 * kDwords / kElementBits;  // of a lane
  constexpr unsigned kMask = (1u << kElementBits) - 1;
  if (wave.exec() != wave.full_exec) {
    return wave.StopIllegal(op,
                            "not implemented: lanes that are off in '" + op->source->text + "'");
  }
  const uint32_t* address = wave.Row(op->operand[1].index);
  uint16_t codes[kRowLanes][kElements];
  for (unsigned lane = 0; lane < kRowLanes; ++lane) {
    uint32_t words[kDwords + 1] = {};
    uint64_t at = uint32_t{address[lane] + static_cast<uint32_t>(op->imm)};
    if (at + 4 * kDwords <= wave.lds_bytes)
      CopyFromMemory(reinterpret_cast<uint8_t*>(words), wave.lds + at, 4 * kDwords);
    for (unsigned i = 0; i < kElements; ++i) {
      unsigned bit = i * kElementBits;
      uint64_t pair = words[bit / 32] | uint64_t{words[bit / 32 + 1]} << 32;
      codes[lane][i] = static_cast<uint16_t>(pair >> bit % 32 & kMask);
    }
  }
  for (unsigned lane = 0; lane < kRowLanes; ++lane) {
    unsigned first = lane / kGroup * kGroup;
    unsigned column = lane % kGroup;
    uint32_t words[kDwords + 1] = {};
    for (unsigned row = 0; row < kElements; ++row) {
      unsigned place = row * kGroup + column;
      uint64_t code = codes[first + place / kElements][place % kElements];
      unsigned bit = row * kElementBits;
      words[bit / 32] |= static_cast<uint32_t>(code << bit % 32);
      words[bit / 32 + 1] |= static_cast<uint32_t>(code << bit % 32 >> 32);
    }
    for (unsigned i = 0; i < kDwords; ++i) wave.Row(op->operand[0].index + i)[lane] = words[i];
  }
  return op + 1;
}

template <unsigned kDwords>
bool Prepare(const AsmInstruction& instruction, const Architecture&, Op* op, std::string* why) {
  op->imm = instruction.modifiers.offset;
  MemoryForm form;
  form.address = op->operand[1].index;
  form.result = op->operand[0].index;
  form.Store(op);
  bool fits = op->operand[0].kind == Operand::Kind::kVector && op->operand[0].dwords == kDwords &&
              op->operand[1].kind == Operand::Kind::kVector && !instruction.modifiers.gds;
  if (!fits) *why = "operands";
  return fits;
}

template <unsigned kElementBits, unsigned kDwords = 2>
constexpr Row Transpose(std::string_view mnemonic) {
  return {mnemonic,
          &ExecTranspose<kElementBits, kDwords>,
          {Ty::kRaw, Ty::kRaw},
          nullptr,
          0,
          kGfx950,
          &Prepare<kDwords>};
}

constexpr Row kRows[] = {
    Transpose<16>("ds_read_b64_tr_b16"),
    Transpose<8>("ds_read_b64_tr_b8"),
    Transpose<4>("ds_read_b64_tr_b4"),
    Transpose<6, 3>("ds_read_b96_tr_b6"),
};

}  // namespace

std::span<const Row> LdsTransposeRows() { return kRows; }

}  // namespace rochound::softgpu
