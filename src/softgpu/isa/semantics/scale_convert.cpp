// SPDX-License-Identifier: MIT
//
// gfx950's conversions between wide floats and the small ones of the MX formats, v_cvt_scalef32_*:
// a small float is multiplied by a power of two when widened, and a wide one divided by it before
// it is rounded. The power is the exponent of a float operand. op_sel says which part of a register
// the small floats are; the rest of it stays. Conversions "sr" round by random bits.
//
// Overflow gives infinity or NaN where the format has one, else the greatest number, whatever
// FP16_OVFL says.
#include <bit>

#include "softgpu/isa/semantics/ocp_float.h"
#include "softgpu/isa/tables.h"
#include "softgpu/isa/vector.h"

namespace rochound::softgpu {
namespace {

// ---- Wide floats ----

struct Single {
  static constexpr unsigned kBits = 32;
  static constexpr int kMantissa = 23;
  static double Get(uint32_t bits) { return static_cast<double>(std::bit_cast<float>(bits)); }
  static uint32_t Put(double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }
};
// A small float scaled is exact in single precision wherever a half is not zero, so that rounding
// twice does no harm.
struct Half {
  static constexpr unsigned kBits = 16;
  static constexpr int kMantissa = 10;
  static double Get(uint32_t bits) { return static_cast<double>(HalfToFloat(bits & 0xFFFF)); }
  static uint32_t Put(double value) { return FloatToHalf(static_cast<float>(value)); }
};
struct Brain {
  static constexpr unsigned kBits = 16;
  static constexpr int kMantissa = 7;
  static double Get(uint32_t bits) { return static_cast<double>(BrainToFloat(bits & 0xFFFF)); }
  static uint32_t Put(double value) { return FloatToBrain(static_cast<float>(value)); }
};

double PowerOf(uint32_t scale) { return BlockScale(scale >> 23); }

template <typename Wide, typename Mini>
uint32_t Widen(uint32_t code, double power) {
  float value = Mini::kTable[code & ((1u << Mini::kBits) - 1)];
  return Wide::Put(static_cast<double>(value) * power);
}

// `random` counts only if kRandom.
template <typename Wide, typename Mini, bool kRandom>
uint32_t Narrow(uint32_t bits, double power, uint32_t random) {
  double value = Wide::Get(bits) / power;
  if constexpr (kRandom) return Mini::template EncodeRandom<Wide::kMantissa>(value, false, random);
  return Mini::Encode(value, false);
}

// ---- Up to two elements per lane ----

// The sources of an op, all lanes.
struct Sources {
  RowBuffer buffers[3];
  const void* rows[3] = {};
  uint64_t lanes;

  Sources(Wave& wave, const Op* op) : lanes(wave.exec()) {
    for (unsigned i = 1; i < op->operand_count; ++i)
      rows[i - 1] = FetchSource(wave, op, i, i - 1, op->row->types[i], &buffers[i - 1], &lanes);
  }
  uint32_t u32(unsigned number, unsigned lane) const {
    return static_cast<const uint32_t*>(rows[number])[lane];
  }
  uint64_t u64(unsigned number, unsigned lane) const {
    return static_cast<const uint64_t*>(rows[number])[lane];
  }
};

// Op::imm is the position of the small floats in their register, Op::imm2 that of a 16-bit result.
template <typename Wide, typename Mini, bool kPair>
const Op* ExecWiden(Wave& wave, const Op* op) {
  Sources sources(wave, op);
  uint32_t* low = wave.Row(op->operand[0].index);
  uint32_t* high = wave.Row(op->operand[0].index + 1);
  for (uint64_t left = sources.lanes; left != 0; left &= left - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(left));
    uint32_t codes = sources.u32(0, lane) >> op->imm;
    double power = PowerOf(sources.u32(1, lane));
    uint32_t first = Widen<Wide, Mini>(codes, power);
    if constexpr (!kPair) {
      constexpr uint32_t kField = Wide::kBits == 32 ? ~0u : 0xFFFF;
      low[lane] = (low[lane] & ~(kField << op->imm2)) | first << op->imm2;
    } else {
      uint32_t second = Widen<Wide, Mini>(codes >> Mini::kBits, power);
      if constexpr (Wide::kBits == 32) {
        low[lane] = first;
        high[lane] = second;
      } else {
        low[lane] = first | second << 16;
      }
    }
  }
  return op + 1;
}

// Sources: one or two wide floats (two singles in two operands or in a pair of registers), random
// bits if kRandom, the scale.
template <typename Wide, typename Mini, bool kPair, bool kRandom>
const Op* ExecNarrow(Wave& wave, const Op* op) {
  Sources sources(wave, op);
  unsigned last = op->operand_count - 2u;
  uint32_t* dst = wave.Row(op->operand[0].index);
  for (uint64_t left = sources.lanes; left != 0; left &= left - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(left));
    double power = PowerOf(sources.u32(last, lane));
    uint32_t random = kRandom ? sources.u32(last - 1, lane) : 0;
    uint32_t first, second = 0;
    if constexpr (Wide::kBits == 32 && kPair && kRandom) {
      first = static_cast<uint32_t>(sources.u64(0, lane));
      second = static_cast<uint32_t>(sources.u64(0, lane) >> 32);
    } else {
      first = sources.u32(0, lane);
      if constexpr (kPair) second = Wide::kBits == 32 ? sources.u32(1, lane) : first >> 16;
    }
    uint32_t codes = Narrow<Wide, Mini, kRandom>(first, power, random);
    if constexpr (kPair) codes |= Narrow<Wide, Mini, kRandom>(second, power, random) << Mini::kBits;
    constexpr uint32_t kField = (1u << (Mini::kBits * (kPair ? 2 : 1))) - 1;
    dst[lane] = (dst[lane] & ~(kField << op->imm)) | codes << op->imm;
  }
  return op + 1;
}

// abs and neg of two halves at once have no documented meaning.
bool RefuseSigns(const Op* op, std::string* why) {
  for (unsigned i = 1; i < op->operand_count; ++i) {
    if (op->row->types[i] == Ty::kF32 || (!op->operand[i].absolute && !op->operand[i].negate))
      continue;
    *why = "abs or neg of a source";
    return true;
  }
  return false;
}

// op_sel: bits 11 to 14 of the encoding.
template <unsigned kPartBits>
bool PrepareWiden(const AsmInstruction& instruction, const Architecture&, Op* op,
                  std::string* why) {
  uint32_t select = instruction.words[0] >> 11;
  op->imm = kPartBits * (select & (kPartBits == 8 ? 3 : 1));
  op->imm2 = select & 8 ? 16 : 0;
  return !RefuseSigns(op, why);
}
template <unsigned kPartBits>
bool PrepareNarrow(const AsmInstruction& instruction, const Architecture&, Op* op,
                   std::string* why) {
  uint32_t select = instruction.words[0] >> 13;
  op->imm = kPartBits * (kPartBits == 8 ? select & 3 : select >> 1 & 1);
  return !RefuseSigns(op, why);
}

template <typename Wide, typename Mini, bool kPair>
constexpr Row WidenRow(std::string_view mnemonic) {
  constexpr unsigned kPart = Mini::kBits * (kPair ? 2 : 1);
  Ty result = kPair && Wide::kBits == 32 ? Ty::kB64 : Ty::kB32;
  return {mnemonic, &ExecWiden<Wide, Mini, kPair>, {result, Ty::kB32, Ty::kF32}, nullptr, 0,
          kGfx950,  &PrepareWiden<kPart>};
}

template <typename Wide, typename Mini, bool kPair, bool kRandom>
constexpr Row NarrowRow(std::string_view mnemonic) {
  constexpr unsigned kPart = Mini::kBits * (kPair ? 2 : 1);
  constexpr bool kSingle = Wide::kBits == 32;
  Row row{mnemonic,
          &ExecNarrow<Wide, Mini, kPair, kRandom>,
          {Ty::kB32},
          nullptr,
          0,
          kGfx950,
          &PrepareNarrow<kPart>};
  unsigned next = 1;
  if (kSingle && kPair && kRandom) {
    row.types[next++] = Ty::kB64;
  } else {
    row.types[next++] = kSingle ? Ty::kF32 : Ty::kB32;
    if (kSingle && kPair) row.types[next++] = Ty::kF32;
  }
  if (kRandom) row.types[next++] = Ty::kB32;
  row.types[next] = Ty::kF32;
  return row;
}

// ---- 32 elements per lane ----

constexpr unsigned kMany = 32;

// Element `index` of a lane's registers.
template <unsigned kBits>
uint32_t GetElement(const Wave& wave, unsigned first, unsigned index, unsigned lane) {
  unsigned at = index * kBits;
  uint32_t value = wave.Row(first + at / 32)[lane] >> at % 32;
  if (at % 32 + kBits > 32) value |= wave.Row(first + at / 32 + 1)[lane] << (32 - at % 32);
  return kBits == 32 ? value : value & ((1u << (kBits % 32)) - 1);
}

// A lane is written when all of it was read: the registers may overlap.
template <unsigned kBits>
void PutElements(Wave& wave, unsigned first, unsigned lane, const uint32_t (&values)[kMany]) {
  uint32_t words[kBits + 1] = {};
  for (unsigned i = 0; i < kMany; ++i) {
    uint64_t placed = uint64_t{values[i]} << i * kBits % 32;
    words[i * kBits / 32] |= static_cast<uint32_t>(placed);
    words[i * kBits / 32 + 1] |= static_cast<uint32_t>(placed >> 32);
  }
  for (unsigned i = 0; i < kBits; ++i) wave.Row(first + i)[lane] = words[i];
}

uint32_t ScaleOf(Wave& wave, const Operand& operand, unsigned lane) {
  return operand.kind == Operand::Kind::kVector ? wave.Row(operand.index)[lane]
                                                : ReadScalar32(wave, operand);
}

template <typename Wide, typename Mini>
const Op* ExecWidenMany(Wave& wave, const Op* op) {
  for (uint64_t left = wave.exec(); left != 0; left &= left - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(left));
    double power = PowerOf(ScaleOf(wave, op->operand[2], lane));
    uint32_t values[kMany];
    for (unsigned i = 0; i < kMany; ++i) {
      values[i] =
          Widen<Wide, Mini>(GetElement<Mini::kBits>(wave, op->operand[1].index, i, lane), power);
    }
    PutElements<Wide::kBits>(wave, op->operand[0].index, lane, values);
  }
  return op + 1;
}

// kInterleaved: the even elements are in one operand, the odd ones in the next.
template <typename Wide, typename Mini, bool kRandom, bool kInterleaved>
const Op* ExecNarrowMany(Wave& wave, const Op* op) {
  unsigned last = op->operand_count - 1u;
  for (uint64_t left = wave.exec(); left != 0; left &= left - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(left));
    double power = PowerOf(ScaleOf(wave, op->operand[last], lane));
    uint32_t random = kRandom ? ScaleOf(wave, op->operand[last - 1], lane) : 0;
    uint32_t values[kMany];
    for (unsigned i = 0; i < kMany; ++i) {
      unsigned operand = kInterleaved ? 1 + i % 2 : 1;
      unsigned index = kInterleaved ? i / 2 : i;
      uint32_t bits = GetElement<Wide::kBits>(wave, op->operand[operand].index, index, lane);
      values[i] = Narrow<Wide, Mini, kRandom>(bits, power, random);
    }
    PutElements<Mini::kBits>(wave, op->operand[0].index, lane, values);
  }
  return op + 1;
}

template <unsigned kResult, unsigned kSource, unsigned kSources>
bool PrepareMany(const AsmInstruction&, const Architecture&, Op* op, std::string* why) {
  auto is_registers = [&](unsigned index, unsigned dwords) {
    return op->operand[index].kind == Operand::Kind::kVector && op->operand[index].dwords == dwords;
  };
  bool fits = is_registers(0, kResult);
  for (unsigned i = 1; i <= kSources; ++i) fits = fits && is_registers(i, kSource);
  for (unsigned i = 1; i < op->operand_count; ++i)
    fits = fits && !op->operand[i].absolute && !op->operand[i].negate;
  if (!fits) *why = "operands";
  return fits;
}

template <typename Wide, typename Mini>
constexpr Row WidenMany(std::string_view mnemonic) {
  return {mnemonic,
          &ExecWidenMany<Wide, Mini>,
          {Ty::kRaw, Ty::kRaw, Ty::kF32},
          nullptr,
          0,
          kGfx950,
          &PrepareMany<Wide::kBits, Mini::kBits, 1>};
}
template <typename Wide, typename Mini>
constexpr Row NarrowMany(std::string_view mnemonic) {
  return {mnemonic,
          &ExecNarrowMany<Wide, Mini, false, false>,
          {Ty::kRaw, Ty::kRaw, Ty::kF32},
          nullptr,
          0,
          kGfx950,
          &PrepareMany<Mini::kBits, Wide::kBits, 1>};
}
template <typename Wide, typename Mini>
constexpr Row NarrowManyRandom(std::string_view mnemonic) {
  return {mnemonic,
          &ExecNarrowMany<Wide, Mini, true, false>,
          {Ty::kRaw, Ty::kRaw, Ty::kB32, Ty::kF32},
          nullptr,
          0,
          kGfx950,
          &PrepareMany<Mini::kBits, Wide::kBits, 1>};
}
template <typename Mini>
constexpr Row NarrowInterleaved(std::string_view mnemonic) {
  return {mnemonic,
          &ExecNarrowMany<Single, Mini, false, true>,
          {Ty::kRaw, Ty::kRaw, Ty::kRaw, Ty::kF32},
          nullptr,
          0,
          kGfx950,
          &PrepareMany<Mini::kBits, 16, 2>};
}

constexpr Row kRows[] = {
    WidenRow<Single, OcpFp8, false>("v_cvt_scalef32_f32_fp8"),
    WidenRow<Single, OcpBf8, false>("v_cvt_scalef32_f32_bf8"),
    WidenRow<Half, OcpFp8, false>("v_cvt_scalef32_f16_fp8"),
    WidenRow<Half, OcpBf8, false>("v_cvt_scalef32_f16_bf8"),
    WidenRow<Single, OcpFp8, true>("v_cvt_scalef32_pk_f32_fp8"),
    WidenRow<Single, OcpBf8, true>("v_cvt_scalef32_pk_f32_bf8"),
    WidenRow<Single, OcpFp4, true>("v_cvt_scalef32_pk_f32_fp4"),
    WidenRow<Half, OcpFp8, true>("v_cvt_scalef32_pk_f16_fp8"),
    WidenRow<Half, OcpBf8, true>("v_cvt_scalef32_pk_f16_bf8"),
    WidenRow<Half, OcpFp4, true>("v_cvt_scalef32_pk_f16_fp4"),
    WidenRow<Brain, OcpFp8, true>("v_cvt_scalef32_pk_bf16_fp8"),
    WidenRow<Brain, OcpBf8, true>("v_cvt_scalef32_pk_bf16_bf8"),
    WidenRow<Brain, OcpFp4, true>("v_cvt_scalef32_pk_bf16_fp4"),

    NarrowRow<Single, OcpFp8, true, false>("v_cvt_scalef32_pk_fp8_f32"),
    NarrowRow<Single, OcpBf8, true, false>("v_cvt_scalef32_pk_bf8_f32"),
    NarrowRow<Single, OcpFp4, true, false>("v_cvt_scalef32_pk_fp4_f32"),
    NarrowRow<Half, OcpFp8, true, false>("v_cvt_scalef32_pk_fp8_f16"),
    NarrowRow<Half, OcpBf8, true, false>("v_cvt_scalef32_pk_bf8_f16"),
    NarrowRow<Half, OcpFp4, true, false>("v_cvt_scalef32_pk_fp4_f16"),
    NarrowRow<Brain, OcpFp8, true, false>("v_cvt_scalef32_pk_fp8_bf16"),
    NarrowRow<Brain, OcpBf8, true, false>("v_cvt_scalef32_pk_bf8_bf16"),
    NarrowRow<Brain, OcpFp4, true, false>("v_cvt_scalef32_pk_fp4_bf16"),

    NarrowRow<Single, OcpFp8, false, true>("v_cvt_scalef32_sr_fp8_f32"),
    NarrowRow<Single, OcpBf8, false, true>("v_cvt_scalef32_sr_bf8_f32"),
    NarrowRow<Half, OcpFp8, false, true>("v_cvt_scalef32_sr_fp8_f16"),
    NarrowRow<Half, OcpBf8, false, true>("v_cvt_scalef32_sr_bf8_f16"),
    NarrowRow<Brain, OcpFp8, false, true>("v_cvt_scalef32_sr_fp8_bf16"),
    NarrowRow<Brain, OcpBf8, false, true>("v_cvt_scalef32_sr_bf8_bf16"),
    NarrowRow<Single, OcpFp4, true, true>("v_cvt_scalef32_sr_pk_fp4_f32"),
    NarrowRow<Half, OcpFp4, true, true>("v_cvt_scalef32_sr_pk_fp4_f16"),
    NarrowRow<Brain, OcpFp4, true, true>("v_cvt_scalef32_sr_pk_fp4_bf16"),

    WidenMany<Single, OcpFp6>("v_cvt_scalef32_pk32_f32_fp6"),
    WidenMany<Single, OcpBf6>("v_cvt_scalef32_pk32_f32_bf6"),
    WidenMany<Half, OcpFp6>("v_cvt_scalef32_pk32_f16_fp6"),
    WidenMany<Half, OcpBf6>("v_cvt_scalef32_pk32_f16_bf6"),
    WidenMany<Brain, OcpFp6>("v_cvt_scalef32_pk32_bf16_fp6"),
    WidenMany<Brain, OcpBf6>("v_cvt_scalef32_pk32_bf16_bf6"),
    NarrowMany<Half, OcpFp6>("v_cvt_scalef32_pk32_fp6_f16"),
    NarrowMany<Half, OcpBf6>("v_cvt_scalef32_pk32_bf6_f16"),
    NarrowMany<Brain, OcpFp6>("v_cvt_scalef32_pk32_fp6_bf16"),
    NarrowMany<Brain, OcpBf6>("v_cvt_scalef32_pk32_bf6_bf16"),
    NarrowInterleaved<OcpFp6>("v_cvt_scalef32_2xpk16_fp6_f32"),
    NarrowInterleaved<OcpBf6>("v_cvt_scalef32_2xpk16_bf6_f32"),
    NarrowManyRandom<Single, OcpFp6>("v_cvt_scalef32_sr_pk32_fp6_f32"),
    NarrowManyRandom<Single, OcpBf6>("v_cvt_scalef32_sr_pk32_bf6_f32"),
    NarrowManyRandom<Half, OcpFp6>("v_cvt_scalef32_sr_pk32_fp6_f16"),
    NarrowManyRandom<Half, OcpBf6>("v_cvt_scalef32_sr_pk32_bf6_f16"),
    NarrowManyRandom<Brain, OcpFp6>("v_cvt_scalef32_sr_pk32_fp6_bf16"),
    NarrowManyRandom<Brain, OcpBf6>("v_cvt_scalef32_sr_pk32_bf6_bf16"),
};

}  // namespace

std::span<const Row> ScaleConvertRows() { return kRows; }

}  // namespace rochound::softgpu
