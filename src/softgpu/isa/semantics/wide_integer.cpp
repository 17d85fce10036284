// SPDX-License-Identifier: MIT
#include "softgpu/isa/semantics/wide_integer.h"

#include "softgpu/isa/semantics/row_chunks.h"

namespace rochound::softgpu {
namespace {

struct ChunkPair {
  Chunk low;
  Chunk high;
};

ChunkPair LoadPair(const RowPair& rows, unsigned lane) {
  return {LoadChunk(rows.low, lane), LoadChunk(rows.high, lane)};
}

// The host's variable shifts give zero (or the sign) for counts beyond 31, negative ones included;
// so the bits that cross from one half to the other come out right without a case distinction.
ChunkPair ShiftLeft(ChunkPair x, Chunk count) {
  Chunk back = _mm256_sub_epi32(_mm256_set1_epi32(32), count);
  Chunk beyond = _mm256_sub_epi32(count, _mm256_set1_epi32(32));
  Chunk crossing =
      _mm256_or_si256(_mm256_srlv_epi32(x.low, back), _mm256_sllv_epi32(x.low, beyond));
  return {_mm256_sllv_epi32(x.low, count),
          _mm256_or_si256(_mm256_sllv_epi32(x.high, count), crossing)};
}

template <bool Arithmetic>
ChunkPair ShiftRight(ChunkPair x, Chunk count) {
  Chunk back = _mm256_sub_epi32(_mm256_set1_epi32(32), count);
  Chunk beyond = _mm256_sub_epi32(count, _mm256_set1_epi32(32));
  Chunk low = _mm256_or_si256(_mm256_srlv_epi32(x.low, count), _mm256_sllv_epi32(x.high, back));
  if constexpr (Arithmetic) {
    Chunk far = _mm256_srav_epi32(x.high, beyond);
    return {SelectBySigns(far, low, beyond), _mm256_srav_epi32(x.high, count)};
  } else {
    return {_mm256_or_si256(low, _mm256_srlv_epi32(x.high, beyond)),
            _mm256_srlv_epi32(x.high, count)};
  }
}

template <auto F>
const Op* ExecShift(Wave& wave, const Op* op) {
  RowBuffer buffers[2];
  const uint32_t* counts = PlainRow(wave, op->operand[1], &buffers[0]);
  RowPair source = PlainPair(wave, op->operand[2], &buffers[1]);
  uint32_t* low = wave.Row(op->operand[0].index);
  uint32_t* high = wave.Row(op->operand[0].index + 1);
  ChunkWriter writer(wave, wave.exec());
  for (unsigned i = 0; i < wave.lanes; i += kChunkLanes) {
    Chunk count = _mm256_and_si256(LoadChunk(counts, i), _mm256_set1_epi32(63));
    ChunkPair result = F(LoadPair(source, i), count);
    writer.Store(low, i, result.low);
    writer.Store(high, i, result.high);
  }
  return op + 1;
}

}  // namespace

const Op* ExecShiftLeft64(Wave& wave, const Op* op) { return ExecShift<ShiftLeft>(wave, op); }
const Op* ExecShiftRight64(Wave& wave, const Op* op) {
  return ExecShift<ShiftRight<false>>(wave, op);
}
const Op* ExecShiftRightArithmetic64(Wave& wave, const Op* op) {
  return ExecShift<ShiftRight<true>>(wave, op);
}

const Op* ExecShiftAdd64(Wave& wave, const Op* op) {
  RowBuffer buffers[3];
  RowPair source = PlainPair(wave, op->operand[1], &buffers[0]);
  const uint32_t* counts = PlainRow(wave, op->operand[2], &buffers[1]);
  RowPair addend = PlainPair(wave, op->operand[3], &buffers[2]);
  uint32_t* low = wave.Row(op->operand[0].index);
  uint32_t* high = wave.Row(op->operand[0].index + 1);
  ChunkWriter writer(wave, wave.exec());
  for (unsigned i = 0; i < wave.lanes; i += kChunkLanes) {
    Chunk count = _mm256_and_si256(LoadChunk(counts, i), _mm256_set1_epi32(7));
    ChunkPair shifted = ShiftLeft(LoadPair(source, i), count);
    ChunkPair add = LoadPair(addend, i);
    Chunk sum_low = _mm256_add_epi32(shifted.low, add.low);
    Chunk carry = LessUnsigned(sum_low, shifted.low);
    Chunk sum_high = _mm256_sub_epi32(_mm256_add_epi32(shifted.high, add.high), carry);
    writer.Store(low, i, sum_low);
    writer.Store(high, i, sum_high);
  }
  return op + 1;
}

const Op* ExecMove64(Wave& wave, const Op* op) {
  RowBuffer buffer;
  RowPair source = PlainPair(wave, op->operand[1], &buffer);
  uint32_t* low = wave.Row(op->operand[0].index);
  uint32_t* high = wave.Row(op->operand[0].index + 1);
  ChunkWriter writer(wave, wave.exec());
  for (unsigned i = 0; i < wave.lanes; i += kChunkLanes) {
    ChunkPair value = LoadPair(source, i);
    writer.Store(low, i, value.low);
    writer.Store(high, i, value.high);
  }
  return op + 1;
}

}  // namespace rochound::softgpu
