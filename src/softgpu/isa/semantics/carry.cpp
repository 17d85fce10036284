// SPDX-License-Identifier: MIT
#include "softgpu/isa/semantics/carry.h"

#include <utility>

#include "softgpu/isa/semantics/row_chunks.h"
#include "softgpu/isa/semantics/sad.h"

namespace rochound::softgpu {
namespace {

// Op::imm of the rows in this file is set if the sources are plain.
const uint32_t* Source32(Wave& wave, const Op* op, unsigned index, unsigned number,
                         RowBuffer* buffer, uint64_t* lanes) {
  if (op->imm) [[likely]]
    return PlainRow(wave, op->operand[index], buffer);
  return static_cast<const uint32_t*>(
      FetchSource(wave, op, index, number, Ty::kU32, buffer, lanes));
}

enum class Carry { kAdd, kSubtract, kSubtractReversed };

// The result, or what it saturates to; the carries are all ones or all zeros.
template <Carry Kind>
Chunk AddChunk(Chunk a, Chunk b, Chunk carry_in, bool clamp, Chunk* carry_out) {
  if constexpr (Kind == Carry::kSubtractReversed) std::swap(a, b);
  if constexpr (Kind == Carry::kAdd) {
    Chunk sum = _mm256_sub_epi32(_mm256_add_epi32(a, b), carry_in);
    Chunk wrapped = _mm256_and_si256(_mm256_cmpeq_epi32(sum, a), carry_in);
    *carry_out = _mm256_or_si256(LessUnsigned(sum, a), wrapped);
    return clamp ? _mm256_or_si256(sum, *carry_out) : sum;
  } else {
    Chunk difference = _mm256_add_epi32(_mm256_sub_epi32(a, b), carry_in);
    Chunk wrapped = _mm256_and_si256(_mm256_cmpeq_epi32(a, b), carry_in);
    *carry_out = _mm256_or_si256(LessUnsigned(a, b), wrapped);
    return clamp ? _mm256_andnot_si256(*carry_out, difference) : difference;
  }
}

template <Carry Kind, bool HasCarryIn>
const Op* ExecCarry(Wave& wave, const Op* op) {
  uint64_t lanes = wave.exec();
  RowBuffer buffers[2];
  const uint32_t* a = Source32(wave, op, 2, 0, &buffers[0], &lanes);
  const uint32_t* b = Source32(wave, op, 3, 1, &buffers[1], &lanes);
  uint64_t carry_in = HasCarryIn ? ReadMask(wave, op->operand[4]) : 0;
  bool clamp = op->modifiers().clamp;
  // SDWA may want but a part of the register written.
  bool is_direct = !op->modifiers().is_sdwa;
  RowBuffer result;
  uint32_t* dst = is_direct ? wave.Row(op->operand[0].index) : result.u32();
  ChunkWriter writer(wave, is_direct ? lanes : wave.full_exec);
  uint64_t carries = 0;
  for (unsigned i = 0; i < wave.lanes; i += kChunkLanes) {
    Chunk carry = HasCarryIn ? MaskToOnes(carry_in, i) : _mm256_setzero_si256();
    Chunk value = AddChunk<Kind>(LoadChunk(a, i), LoadChunk(b, i), carry, clamp, &carry);
    writer.Store(dst, i, value);
    carries |= SignsToMask(carry, i);
  }
  if (!is_direct) StoreResult(wave, op, 0, Ty::kU32, &result, lanes);
  WriteMask(wave, op->operand[1], carries & lanes);
  return op + 1;
}

// High halves of eight 32-bit products.
template <bool Signed>
Chunk MultiplyHigh(Chunk a, Chunk b) {
  Chunk a_odd = _mm256_srli_epi64(a, 32);
  Chunk b_odd = _mm256_srli_epi64(b, 32);
  Chunk even = Signed ? _mm256_mul_epi32(a, b) : _mm256_mul_epu32(a, b);
  Chunk odd = Signed ? _mm256_mul_epi32(a_odd, b_odd) : _mm256_mul_epu32(a_odd, b_odd);
  return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}

template <bool Signed>
const Op* ExecMultiplyAdd(Wave& wave, const Op* op) {
  uint64_t lanes = wave.exec();
  RowBuffer buffers[3];
  const uint32_t* a = PlainRow(wave, op->operand[2], &buffers[0]);
  const uint32_t* b = PlainRow(wave, op->operand[3], &buffers[1]);
  RowPair c = PlainPair(wave, op->operand[4], &buffers[2]);
  uint32_t* low = wave.Row(op->operand[0].index);
  uint32_t* high = wave.Row(op->operand[0].index + 1);
  bool clamp = op->modifiers().clamp;
  ChunkWriter writer(wave, lanes);
  uint64_t carries = 0;
  for (unsigned i = 0; i < wave.lanes; i += kChunkLanes) {
    Chunk x = LoadChunk(a, i);
    Chunk y = LoadChunk(b, i);
    Chunk c_high = LoadChunk(c.high, i);
    Chunk product = MultiplyHigh<Signed>(x, y);
    Chunk carry = _mm256_setzero_si256();
    Chunk sum_low =
        AddChunk<Carry::kAdd>(_mm256_mullo_epi32(x, y), LoadChunk(c.low, i), carry, false, &carry);
    Chunk sum_high = AddChunk<Carry::kAdd>(product, c_high, carry, false, &carry);
    Chunk limit_low = _mm256_set1_epi32(-1);
    Chunk limit_high = limit_low;
    Chunk overflow = carry;
    if constexpr (Signed) {
      // The carry out is bit 64 of the exact sum: its true sign.
      overflow = _mm256_srai_epi32(
          _mm256_and_si256(_mm256_xor_si256(product, sum_high), _mm256_xor_si256(c_high, sum_high)),
          31);
      carry = _mm256_xor_si256(_mm256_srai_epi32(sum_high, 31), overflow);
      limit_low = _mm256_xor_si256(carry, limit_low);
      limit_high = _mm256_xor_si256(carry, _mm256_set1_epi32(0x7FFFFFFF));
    }
    if (clamp) {
      sum_low = SelectBySigns(sum_low, limit_low, overflow);
      sum_high = SelectBySigns(sum_high, limit_high, overflow);
    }
    writer.Store(low, i, sum_low);
    writer.Store(high, i, sum_high);
    carries |= SignsToMask(carry, i);
  }
  WriteMask(wave, op->operand[1], carries & lanes);
  return op + 1;
}

}  // namespace

bool PrepareSources(const AsmInstruction& instruction, const Architecture&, Op* op, std::string*) {
  op->imm = HasPlainSources(instruction);
  return true;
}

const Op* ExecSelect(Wave& wave, const Op* op) {
  uint64_t lanes = wave.exec();
  RowBuffer buffers[2];
  const uint32_t* clear = Source32(wave, op, 1, 0, &buffers[0], &lanes);
  const uint32_t* set = Source32(wave, op, 2, 1, &buffers[1], &lanes);
  uint64_t mask = ReadMask(wave, op->operand[3]);
  bool is_direct = !op->modifiers().is_sdwa;
  RowBuffer result;
  uint32_t* dst = is_direct ? wave.Row(op->operand[0].index) : result.u32();
  ChunkWriter writer(wave, is_direct ? lanes : wave.full_exec);
  for (unsigned i = 0; i < wave.lanes; i += kChunkLanes)
    writer.Store(dst, i,
                 SelectBySigns(LoadChunk(clear, i), LoadChunk(set, i), MaskToSigns(mask, i)));
  if (!is_direct) StoreResult(wave, op, 0, Ty::kB32, &result, lanes);
  return op + 1;
}

const Op* ExecAddCarryOut(Wave& wave, const Op* op) {
  return ExecCarry<Carry::kAdd, false>(wave, op);
}
const Op* ExecSubCarryOut(Wave& wave, const Op* op) {
  return ExecCarry<Carry::kSubtract, false>(wave, op);
}
const Op* ExecSubRevCarryOut(Wave& wave, const Op* op) {
  return ExecCarry<Carry::kSubtractReversed, false>(wave, op);
}
const Op* ExecAddCarryInOut(Wave& wave, const Op* op) {
  return ExecCarry<Carry::kAdd, true>(wave, op);
}
const Op* ExecSubCarryInOut(Wave& wave, const Op* op) {
  return ExecCarry<Carry::kSubtract, true>(wave, op);
}
const Op* ExecSubRevCarryInOut(Wave& wave, const Op* op) {
  return ExecCarry<Carry::kSubtractReversed, true>(wave, op);
}

const Op* ExecMultiplyAddU64(Wave& wave, const Op* op) { return ExecMultiplyAdd<false>(wave, op); }
const Op* ExecMultiplyAddI64(Wave& wave, const Op* op) { return ExecMultiplyAdd<true>(wave, op); }

const Op* ExecMaskedQuadSad(Wave& wave, const Op* op) {
  uint64_t lanes = wave.exec();
  RowBuffer buffers[2];
  RowBuffer result[4];
  RowPair a = PlainPair(wave, op->operand[1], &buffers[0]);
  const uint32_t* b = PlainRow(wave, op->operand[2], &buffers[1]);
  const Operand& addend = op->operand[3];
  bool is_vector = addend.kind == Operand::Kind::kVector;
  bool clamp = op->modifiers().clamp;
  for (unsigned part = 0; part < 4; ++part) {
    const uint32_t* row = is_vector ? wave.Row(addend.index + part) : nullptr;
    for (size_t i = 0; i < wave.lanes; ++i) {
      uint32_t c = is_vector ? row[i] : wave.sgpr[addend.index + part];
      uint64_t wide = uint64_t{a.high[i]} << 32 | a.low[i];
      uint64_t sum = uint64_t{MaskedSad8(static_cast<uint32_t>(wide >> (8 * part)), b[i])} + c;
      result[part].u32()[i] = static_cast<uint32_t>(clamp && sum >> 32 != 0 ? ~0u : sum);
    }
  }
  for (unsigned part = 0; part < 4; ++part)
    Blend(wave.Row(op->operand[0].index + part), result[part].u32(), lanes, wave.lanes);
  return op + 1;
}

}  // namespace rochound::softgpu
