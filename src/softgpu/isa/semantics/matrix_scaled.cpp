// SPDX-License-Identifier: MIT
//
// gfx950's matrix products of 8, 6 and 4-bit floats, v_mfma_*_f8f6f4 and v_mfma_scale_*: cbsz says
// what A is made of, blgp what B is, and each block of 32 k of a row has a power of two as its
// scale, a byte of a register of its own. Sums as in matrix.cpp: in the order of k, rounded to
// single precision after each.
//
// Where an element is: a lane holds 32 k of a row. Of 6 and 4-bit numbers they are consecutive;
// of 8-bit ones two runs of 16, the second half of K apart. Results as in matrix.cpp.
#include <array>
#include <bit>

#include "softgpu/isa/semantics/ocp_float.h"
#include "softgpu/isa/tables.h"
#include "softgpu/isa/vector.h"

namespace rochound::softgpu {
namespace {

constexpr unsigned kLanes = 64;
constexpr unsigned kPerLane = 32;

struct Format {
  const float* table;
  unsigned bits;
};
// By cbsz and blgp.
constexpr Format kFormats[] = {
    {OcpFp8::kTable.data(), 8}, {OcpBf8::kTable.data(), 8}, {OcpFp6::kTable.data(), 6},
    {OcpBf6::kTable.data(), 6}, {OcpFp4::kTable.data(), 4},
};

unsigned Registers(const Format& format) { return kPerLane * format.bits / 32; }

float Element(const Wave& wave, unsigned first, const Format& format, unsigned index,
              unsigned lane) {
  unsigned at = index * format.bits;
  uint32_t code = wave.Row(first + at / 32)[lane] >> at % 32;
  if (at % 32 + format.bits > 32) code |= wave.Row(first + at / 32 + 1)[lane] << (32 - at % 32);
  return format.table[code & ((1u << format.bits) - 1)];
}

template <unsigned kM>
struct Scaled {
  static constexpr unsigned kK = 2048 / kM;
  static constexpr unsigned kGroups = kLanes / kM;
  static constexpr unsigned kOutputRegisters = kM * kM / kLanes;
  using Matrix = std::array<std::array<double, kK>, kM>;

  static unsigned KOf(const Format& format, unsigned lane, unsigned index) {
    unsigned group = lane / kM;
    if (format.bits == 8) return index / 16 * (kK / 2) + group * 16 + index % 16;
    return group * kPerLane + index;
  }

  // Every number with its scale, which is in the lane of its row and block of k.
  static void Read(const Wave& wave, unsigned first, const Format& format, const uint32_t* scales,
                   unsigned byte, Matrix& matrix) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      unsigned row = lane % kM;
      for (unsigned i = 0; i < kPerLane; ++i) {
        unsigned k = KOf(format, lane, i);
        double value = static_cast<double>(Element(wave, first, format, i, lane));
        if (scales != nullptr) value *= BlockScale(scales[k / 32 * kM + row] >> (8 * byte));
        matrix[row][k] = value;
      }
    }
  }

  template <bool kHasScales>
  static const Op* Exec(Wave& wave, const Op* op) {
    const Modifiers& m = op->modifiers();
    Matrix a;
    Matrix b;
    const uint32_t* scales[2] = {};
    if constexpr (kHasScales) {
      for (unsigned i = 0; i < 2; ++i) scales[i] = wave.Row(op->operand[4 + i].index);
    }
    Read(wave, op->operand[1].index, kFormats[m.cbsz], scales[0], op->imm & 3, a);
    Read(wave, op->operand[2].index, kFormats[m.blgp], scales[1], op->imm >> 2 & 3, b);
    std::array<std::array<float, kLanes>, kOutputRegisters> results;
    for (unsigned reg = 0; reg < kOutputRegisters; ++reg) {
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        unsigned row = reg / 4 * 4 * kGroups + lane / kM * 4 + reg % 4;
        uint32_t start = op->operand[3].kind == Operand::Kind::kVector
                             ? wave.Row(op->operand[3].index + reg)[lane]
                             : static_cast<uint32_t>(op->operand[3].value);
        float sum = std::bit_cast<float>(start);
        const auto& x = a[row];
        const auto& y = b[lane % kM];
        for (unsigned k = 0; k < kK; ++k)
          sum = static_cast<float>(static_cast<double>(sum) + x[k] * y[k]);
        results[reg][lane] = sum;
      }
    }
    for (unsigned reg = 0; reg < kOutputRegisters; ++reg) {
      uint32_t* to = wave.Row(op->operand[0].index + reg);
      for (unsigned lane = 0; lane < kLanes; ++lane)
        to[lane] = std::bit_cast<uint32_t>(results[reg][lane]);
    }
    return op + 1;
  }

  template <bool kHasScales>
  static bool Prepare(const AsmInstruction& instruction, const Architecture&, Op* op,
                      std::string* why) {
    const Modifiers& m = instruction.modifiers;
    auto is_registers = [&](unsigned index, unsigned dwords) {
      return op->operand[index].kind == Operand::Kind::kVector &&
             op->operand[index].dwords == dwords;
    };
    if (m.cbsz >= std::size(kFormats) || m.blgp >= std::size(kFormats)) {
      *why = "cbsz or blgp";
      return false;
    }
    bool fits =
        is_registers(0, kOutputRegisters) && is_registers(1, Registers(kFormats[m.cbsz])) &&
        is_registers(2, Registers(kFormats[m.blgp])) &&
        (is_registers(3, kOutputRegisters) || op->operand[3].kind == Operand::Kind::kConstant) &&
        (!kHasScales || (is_registers(4, 1) && is_registers(5, 1)));
    if (!fits) *why = "operands";
    // Which byte is the scale: op_sel and op_sel_hi of the first half, two bits for each matrix.
    uint32_t low = instruction.words[0] >> 11;
    uint32_t high = instruction.words[1] >> 27;
    if (kHasScales) op->imm = (low & 1) | (high & 1) << 1 | (low & 2) << 1 | (high & 2) << 2;
    return fits;
  }
};

template <unsigned kM>
constexpr Row Plain(std::string_view mnemonic) {
  return {mnemonic,
          &Scaled<kM>::template Exec<false>,
          {Ty::kRaw, Ty::kRaw, Ty::kRaw, Ty::kRaw},
          nullptr,
          kIgnoresExec,
          kGfx950,
          &Scaled<kM>::template Prepare<false>};
}
template <unsigned kM>
constexpr Row WithScales(std::string_view mnemonic) {
  return {mnemonic,
          &Scaled<kM>::template Exec<true>,
          {Ty::kRaw, Ty::kRaw, Ty::kRaw, Ty::kRaw, Ty::kRaw, Ty::kRaw},
          nullptr,
          kIgnoresExec,
          kGfx950,
          &Scaled<kM>::template Prepare<true>};
}

constexpr Row kRows[] = {
    Plain<16>("v_mfma_f32_16x16x128_f8f6f4"),
    Plain<32>("v_mfma_f32_32x32x64_f8f6f4"),
    WithScales<16>("v_mfma_scale_f32_16x16x128_f8f6f4"),
    WithScales<32>("v_mfma_scale_f32_32x32x64_f8f6f4"),
};

}  // namespace

std::span<const Row> ScaledMatrixRows() { return kRows; }

}  // namespace rochound::softgpu
