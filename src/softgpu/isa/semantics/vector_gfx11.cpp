// SPDX-License-Identifier: MIT
//
// VALU instructions that came with gfx11 and gfx12: 16-bit moves and logic, mixtures of min and max
// of integers, conversions, and exchanges between lanes.
#include <algorithm>
#include <cmath>

#include "softgpu/isa/semantics/row_chunks.h"
#include "softgpu/isa/tables.h"
#include "softgpu/isa/vector.h"

namespace rochound::softgpu {
namespace {

using enum Ty;

constexpr uint32_t kSinceGfx11 = kGfx11Targets | kGfx12Targets;

template <auto F, Ty D, Ty... S>
constexpr Row Since11(std::string_view mnemonic) {
  return Vector<F, D, S...>(mnemonic, 0, kSinceGfx11);
}

constexpr auto kMin = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto kMax = [](auto a, auto b) { return a < b ? b : a; };
constexpr auto kMinMax = [](auto a, auto b, auto c) { return kMax(kMin(a, b), c); };
constexpr auto kMaxMin = [](auto a, auto b, auto c) { return kMin(kMax(a, b), c); };

// Cut towards zero and saturated; NaN is 0.
template <int kLow, int kHigh>
uint32_t ToShort(float x) {
  x = x > kHigh ? kHigh : x;
  x = x < kLow ? kLow : x;
  return static_cast<uint16_t>(static_cast<int32_t>(x == x ? x : 0.0f));
}

// dst, if clear, if set, mask. abs and neg are those of a half.
const Op* ExecSelect16(Wave& wave, const Op* op) {
  uint64_t lanes = wave.exec();
  if (lanes == 0) return op + 1;
  RowBuffer buffers[2];
  const auto* clear =
      static_cast<const uint32_t*>(FetchSource(wave, op, 1, 0, kB16, &buffers[0], &lanes));
  const auto* set =
      static_cast<const uint32_t*>(FetchSource(wave, op, 2, 1, kB16, &buffers[1], &lanes));
  uint64_t mask = ReadMask(wave, op->operand[3]);
  RowBuffer result;
  for (unsigned i = 0; i < wave.lanes; ++i)
    result.u32()[i] = (mask >> i & 1 ? set[i] : clear[i]) & 0xFFFF;
  StoreResult(wave, op, 0, kB16, &result, lanes);
  return op + 1;
}

// Both operands are destinations; op_sel bit 3 belongs to the first, bit 0 to the second.
const Op* ExecSwap16(Wave& wave, const Op* op) {
  uint32_t* row[2] = {wave.Row(op->operand[0].index), wave.Row(op->operand[1].index)};
  unsigned shift[2] = {op->modifiers().op_sel & 8 ? 16u : 0u,
                       op->modifiers().op_sel & 1 ? 16u : 0u};
  uint64_t exec = wave.exec();
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1)) continue;
    uint32_t value[2] = {row[0][lane] >> shift[0] & 0xFFFF, row[1][lane] >> shift[1] & 0xFFFF};
    for (unsigned i = 0; i < 2; ++i)
      row[i][lane] = (row[i][lane] & ~(0xFFFFu << shift[i])) | value[1 - i] << shift[i];
  }
  return op + 1;
}

// Exchanges the halves of a wave64; nothing in wave32. Lanes that are off can be read.
const Op* ExecPermuteHalves(Wave& wave, const Op* op) {
  if (wave.lanes != 64) return op + 1;
  RowBuffer buffer;
  RowBuffer result;
  const uint32_t* source = PlainRow(wave, op->operand[1], &buffer);
  for (unsigned i = 0; i < 64; ++i) result.u32()[i] = source[i ^ 32];
  Blend(wave.Row(op->operand[0].index), result.u32(), wave.exec(), wave.lanes);
  return op + 1;
}

// As v_permlane16, with the selector in a register of the lane itself.
template <unsigned kRowFlip>
const Op* ExecPermuteRowBy(Wave& wave, const Op* op) {
  uint64_t exec = wave.exec();
  bool fetch_inactive = op->modifiers().op_sel & 1;
  bool bound_control = op->modifiers().op_sel & 2;
  RowBuffer buffers[2];
  const uint32_t* source = PlainRow(wave, op->operand[1], &buffers[0]);
  const uint32_t* select = PlainRow(wave, op->operand[2], &buffers[1]);
  RowBuffer result;
  uint64_t lanes = exec;
  for (unsigned i = 0; i < wave.lanes; ++i) {
    unsigned from = ((i & ~15u) ^ kRowFlip) + (select[i] & 15);
    bool valid = fetch_inactive || (exec >> from & 1);
    result.u32()[i] = valid ? source[from] : 0;
    if (!valid && !bound_control) lanes &= ~(uint64_t{1} << i);
  }
  Blend(wave.Row(op->operand[0].index), result.u32(), lanes, wave.lanes);
  return op + 1;
}

constexpr Row kRows[] = {
    Since11<[](uint16_t a) { return a; }, kB16, kB16>("v_mov_b16"),
    Since11<[](uint16_t a) { return ~a; }, kB16, kB16>("v_not_b16"),
    Since11<[](uint16_t a, uint16_t b) { return a & b; }, kB16, kB16, kB16>("v_and_b16"),
    Since11<[](uint16_t a, uint16_t b) { return a | b; }, kB16, kB16, kB16>("v_or_b16"),
    Since11<[](uint16_t a, uint16_t b) { return a ^ b; }, kB16, kB16, kB16>("v_xor_b16"),
    {"v_cndmask_b16", &ExecSelect16, {kB16, kB16, kB16, kMask}, nullptr, 0, kSinceGfx11},
    {"v_swap_b16", &ExecSwap16, {kB16, kB16}, nullptr, 0, kSinceGfx11},

    Since11<[](int16_t a) { return int32_t{a}; }, kI32, kI16>("v_cvt_i32_i16"),
    Since11<[](uint16_t a) { return uint32_t{a}; }, kU32, kU16>("v_cvt_u32_u16"),
    Since11<[](float a, float b) {
      return ToShort<-32768, 32767>(a) | ToShort<-32768, 32767>(b) << 16;
    },
            kB32, kF32, kF32>("v_cvt_pk_i16_f32"),
    Since11<[](float a, float b) { return ToShort<0, 65535>(a) | ToShort<0, 65535>(b) << 16; },
            kB32, kF32, kF32>("v_cvt_pk_u16_f32"),

    Since11<kMinMax, kI32, kI32, kI32, kI32>("v_minmax_i32"),
    Since11<kMinMax, kU32, kU32, kU32, kU32>("v_minmax_u32"),
    Since11<kMaxMin, kI32, kI32, kI32, kI32>("v_maxmin_i32"),
    Since11<kMaxMin, kU32, kU32, kU32, kU32>("v_maxmin_u32"),

    {"v_permlane64_b32", &ExecPermuteHalves, {kB32, kB32}, nullptr, 0, kSinceGfx11},
    {"v_permlane16_var_b32", &ExecPermuteRowBy<0>, {kB32, kB32, kB32}, nullptr, 0, kGfx12Targets},
    {"v_permlanex16_var_b32", &ExecPermuteRowBy<16>, {kB32, kB32, kB32}, nullptr, 0, kGfx12Targets},
};

}  // namespace

std::span<const Row> VectorGfx11Rows() { return kRows; }

}  // namespace rochound::softgpu
