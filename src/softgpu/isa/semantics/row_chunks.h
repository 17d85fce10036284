// SPDX-License-Identifier: MIT
//
// Register rows in chunks of eight lanes, for executors that are worth writing by hand: the exec
// mask, lane masks and 64-bit numbers in two rows are handled on the way, without copies. All
// sources of a chunk are read before its result is written, so registers may overlap as they like.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "softgpu/isa/vector.h"

namespace rochound::softgpu {

using Chunk = __m256i;
inline constexpr unsigned kChunkLanes = 8;

inline Chunk LoadChunk(const uint32_t* row, unsigned lane) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + lane));
}

// Eight bits of a mask: each in the sign of its lane, or as all ones or all zeros.
inline Chunk MaskToSigns(uint64_t mask, unsigned lane) {
  Chunk bits = _mm256_set1_epi32(static_cast<int>(mask >> lane & 0xFF));
  return _mm256_sllv_epi32(bits, _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24));
}
inline Chunk MaskToOnes(uint64_t mask, unsigned lane) {
  return _mm256_srai_epi32(MaskToSigns(mask, lane), 31);
}
inline uint64_t SignsToMask(Chunk chunk, unsigned lane) {
  auto bits = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(chunk)));
  return uint64_t{bits} << lane;
}

// `set` where the sign of `signs` is set, else `clear`.
inline Chunk SelectBySigns(Chunk clear, Chunk set, Chunk signs) {
  return _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(clear), _mm256_castsi256_ps(set),
                                              _mm256_castsi256_ps(signs)));
}

// All ones where a < b as unsigned numbers.
inline Chunk LessUnsigned(Chunk a, Chunk b) {
  Chunk at_least = _mm256_cmpeq_epi32(_mm256_max_epu32(a, b), a);
  return _mm256_xor_si256(at_least, _mm256_set1_epi32(-1));
}

// Where a chunk of results goes: all of it, or the lanes that are on.
class ChunkWriter {
 public:
  ChunkWriter(const Wave& wave, uint64_t lanes) : lanes_(lanes), all_(lanes == wave.full_exec) {}
  void Store(uint32_t* row, unsigned lane, Chunk value) const {
    if (!all_) value = SelectBySigns(LoadChunk(row, lane), value, MaskToSigns(lanes_, lane));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + lane), value);
  }

 private:
  uint64_t lanes_;
  bool all_;
};

// True if the sources are what they seem: no DPP, SDWA, abs, neg or op_sel.
inline bool HasPlainSources(const AsmInstruction& instruction) {
  const Modifiers& m = instruction.modifiers;
  if (m.is_dpp || m.is_dpp8 || m.is_sdwa || m.op_sel != 0) return false;
  return std::none_of(instruction.operands.begin(), instruction.operands.end(),
                      [](const AsmOperand& o) { return o.negate || o.absolute; });
}

// A plain 32-bit source as a row.
inline const uint32_t* PlainRow(Wave& wave, const Operand& operand, RowBuffer* buffer) {
  if (operand.kind == Operand::Kind::kVector) return wave.Row(operand.index);
  if (operand.kind == Operand::Kind::kConstant) return static_cast<const uint32_t*>(operand.row);
  std::fill_n(buffer->u32(), wave.lanes, ReadScalar32(wave, operand));
  return buffer->u32();
}

// A plain 64-bit source as two rows.
struct RowPair {
  const uint32_t* low;
  const uint32_t* high;
};
inline RowPair PlainPair(Wave& wave, const Operand& operand, RowBuffer* buffer) {
  if (operand.kind == Operand::Kind::kVector)
    return {wave.Row(operand.index), wave.Row(operand.index + 1)};
  uint64_t value = ReadScalar64(wave, operand);
  uint32_t* low = buffer->u32();
  uint32_t* high = low + kRowLanes;
  std::fill_n(low, wave.lanes, static_cast<uint32_t>(value));
  std::fill_n(high, wave.lanes, static_cast<uint32_t>(value >> 32));
  return {low, high};
}

}  // namespace rochound::softgpu
