// SPDX-License-Identifier: MIT
//
// WMMA (gfx11, gfx12) and SWMMAC (gfx12): D = A * B + C of 16x16 matrices that lie across the
// registers of a wave, whatever EXEC says. A sparse A has two of every four elements, and an index
// register that says which. Sums run over k in order, each step a fused multiply-add; hardware's
// order is not documented.
#include <array>
#include <bit>
#include <type_traits>

#include "softgpu/isa/lane_types.h"
#include "softgpu/isa/semantics/ocp_float.h"
#include "softgpu/isa/tables.h"
#include "softgpu/isa/wave.h"

namespace rochound::softgpu {
namespace {

constexpr unsigned kSize = 16;

// ---- Elements ----

struct HalfElement {
  using Sum = float;
  static constexpr unsigned kBits = 16;
  static Sum Decode(uint32_t bits, bool) { return HalfToFloat(bits & 0xFFFF); }
};
struct BrainElement {
  using Sum = float;
  static constexpr unsigned kBits = 16;
  static Sum Decode(uint32_t bits, bool) { return BrainToFloat(bits & 0xFFFF); }
};
template <typename Mini>
struct MiniElement {
  using Sum = float;
  static constexpr unsigned kBits = 8;
  static Sum Decode(uint32_t bits, bool) { return Mini::kTable[bits & 0xFF]; }
};
using Fp8 = MiniElement<OcpFp8>;
using Bf8 = MiniElement<OcpBf8>;
template <unsigned kWidth>
struct IntElement {
  using Sum = int32_t;
  static constexpr unsigned kBits = kWidth;
  static Sum Decode(uint32_t bits, bool is_signed) {
    uint32_t shifted = bits << (32 - kWidth);
    return is_signed ? static_cast<int32_t>(shifted) >> (32 - kWidth)
                     : static_cast<int32_t>(shifted >> (32 - kWidth));
  }
};

// ---- Where elements are ----

// `unit` counts elements, or pairs of them in a sparse A.
struct Place {
  unsigned lane;   // of the first row
  unsigned local;  // unit within the lane
};

// gfx12 deals 16-bit elements out by runs of 64 bits of A, others by halves of the row.
template <unsigned kBits>
Place PlaceOf(unsigned unit, unsigned units, unsigned run, bool is_wave64) {
  if constexpr (kBits == 16) {
    if (is_wave64) return {16 * (unit / run), unit % run};
    return {16 * (unit / run % 2), unit % run + run * (unit / (2 * run))};
  }
  unsigned per_lane = units / (is_wave64 ? 4 : 2);
  if (!is_wave64) return {16 * (unit / per_lane), unit % per_lane};
  constexpr unsigned kLane[] = {0, 32, 16, 48};
  return {kLane[unit / per_lane], unit % per_lane};
}

uint32_t Field(const Wave& wave, unsigned first_row, unsigned lane, unsigned bit, unsigned bits) {
  uint32_t word = wave.Row(first_row + bit / 32)[lane] >> (bit % 32);
  return bits == 32 ? word : word & ((1u << bits) - 1);
}

template <typename Sum, unsigned kK>
using Matrix = std::array<std::array<Sum, kK>, kSize>;  // rows of A, columns of B

// neg_lo and neg_hi of source `number`: of even and odd elements; for integers, signedness.
template <typename Element>
typename Element::Sum Element1(const Modifiers& m, unsigned number, uint32_t bits, unsigned index) {
  if constexpr (std::is_same_v<typename Element::Sum, int32_t>) {
    return Element::Decode(bits, m.neg_lo >> number & 1);
  } else if constexpr (Element::kBits == 16) {
    bool negate = (index % 2 == 0 ? m.neg_lo : m.neg_hi) >> number & 1;
    return Element::Decode(negate ? bits ^ 0x8000 : bits, false);
  } else {
    return Element::Decode(bits, false);
  }
}

template <typename Element, unsigned kK>
Matrix<typename Element::Sum, kK> ReadDense(const Wave& wave, const Op* op, unsigned number,
                                            bool is_gfx12, unsigned run) {
  Matrix<typename Element::Sum, kK> matrix;
  unsigned row = op->operand[number + 1].index;
  // Too few elements for four parts: the upper half of a wave64 has none.
  bool splits = wave.lanes == 64 && kK * Element::kBits >= 4 * 32;
  for (unsigned k = 0; k < kK; ++k) {
    Place place{0, k};
    if (is_gfx12) place = PlaceOf<Element::kBits>(k, kK, run, splits);
    for (unsigned i = 0; i < kSize; ++i) {
      uint32_t bits =
          Field(wave, row, place.lane + i, place.local * Element::kBits, Element::kBits);
      matrix[i][k] = Element1<Element>(op->modifiers(), number, bits, place.local);
    }
  }
  return matrix;
}

template <typename Element, unsigned kK>
Matrix<typename Element::Sum, kK> ReadSparse(const Wave& wave, const Op* op) {
  constexpr unsigned kUnits = kK / 4;
  constexpr unsigned kUnitBits = 2 * Element::kBits;
  Matrix<typename Element::Sum, kK> matrix{};
  unsigned row = op->operand[1].index;
  unsigned index_row = op->operand[3].index;
  bool splits = wave.lanes == 64 && kUnits * kUnitBits >= 4 * 32;
  unsigned per_lane = kUnits / (splits ? 4 : 2);
  unsigned key = op->modifiers().index_key * per_lane * 4;
  for (unsigned unit = 0; unit < kUnits; ++unit) {
    Place place = PlaceOf<Element::kBits>(unit, kUnits, 2, splits);
    for (unsigned i = 0; i < kSize; ++i) {
      unsigned lane = place.lane + i;
      uint32_t index = Field(wave, index_row, lane, key + 4 * place.local, 4);
      for (unsigned n = 0; n < 2; ++n) {
        uint32_t bits =
            Field(wave, row, lane, place.local * kUnitBits + n * Element::kBits, Element::kBits);
        matrix[i][4 * unit + (index >> (2 * n) & 3)] =
            Element1<Element>(op->modifiers(), 0, bits, n);
      }
    }
  }
  return matrix;
}

// ---- Results ----

enum class Result : uint8_t { kSingle, kInteger, kHalf, kBrain };
constexpr bool Is16(Result result) { return result == Result::kHalf || result == Result::kBrain; }

struct ResultPlace {
  unsigned row;
  unsigned lane;
  unsigned shift;
};

// Row i, column j of C and D.
template <Result R>
ResultPlace PlaceOfResult(unsigned i, unsigned j, bool is_gfx12, bool is_wave64, bool is_high) {
  constexpr unsigned kLane[] = {0, 32, 16, 48};
  if (!is_gfx12) {
    unsigned per_register = is_wave64 ? 4 : 2;
    return {i / per_register, 16 * (i % per_register) + j, Is16(R) && is_high ? 16u : 0u};
  }
  unsigned registers = is_wave64 ? 4 : 8;
  unsigned lane = (is_wave64 ? kLane[i / 4] : 16 * (i / 8)) + j;
  unsigned local = i % registers;
  if (Is16(R)) return {local / 2, lane, 16 * (local % 2)};
  return {local, lane, 0};
}

template <Result R>
auto DecodeResult(uint32_t bits) {
  if constexpr (R == Result::kSingle) return std::bit_cast<float>(bits);
  if constexpr (R == Result::kInteger) return static_cast<int32_t>(bits);
  if constexpr (R == Result::kHalf) return HalfToFloat(bits & 0xFFFF);
  if constexpr (R == Result::kBrain) return BrainToFloat(bits & 0xFFFF);
}
template <Result R, typename Sum>
uint32_t EncodeResult(Sum value) {
  if constexpr (R == Result::kSingle) return std::bit_cast<uint32_t>(value);
  if constexpr (R == Result::kInteger) return static_cast<uint32_t>(value);
  if constexpr (R == Result::kHalf) return FloatToHalf(value);
  if constexpr (R == Result::kBrain) return FloatToBrain(value);
}

// Integers are summed exactly, then cut or saturated.
template <typename Sum, unsigned kK>
Sum Accumulate(const std::array<Sum, kK>& a, const std::array<Sum, kK>& b, Sum c, bool clamp) {
  if constexpr (std::is_same_v<Sum, float>) {
    for (unsigned k = 0; k < kK; ++k) c = __builtin_fmaf(a[k], b[k], c);
    return c;
  } else {
    int64_t sum = c;
    for (unsigned k = 0; k < kK; ++k) sum += int64_t{a[k]} * b[k];
    if (clamp) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return static_cast<Sum>(sum);
  }
}

template <unsigned kK, typename A, typename B, Result R, bool kSparse>
const Op* ExecWaveMatrix(Wave& wave, const Op* op) {
  using Sum = typename A::Sum;
  const Modifiers& m = op->modifiers();
  bool is_gfx12 = wave.architecture->bit & kGfx12Targets;
  bool is_wave64 = wave.lanes == 64;
  bool is_high = m.op_sel >> 2 & 1;
  Matrix<Sum, kK> a;
  if constexpr (kSparse) {
    a = ReadSparse<A, kK>(wave, op);
  } else {
    a = ReadDense<A, kK>(wave, op, 0, is_gfx12, 4);
  }
  Matrix<Sum, kK> b = ReadDense<B, kK>(wave, op, 1, is_gfx12, kSparse ? 8 : 4);
  const Operand& addend = op->operand[kSparse ? 0 : 3];
  unsigned to = op->operand[0].index;
  // Everything is read before the first result is written.
  std::array<std::array<Sum, kSize>, kSize> sums;
  for (unsigned i = 0; i < kSize; ++i) {
    for (unsigned j = 0; j < kSize; ++j) {
      ResultPlace place = PlaceOfResult<R>(i, j, is_gfx12, is_wave64, is_high);
      uint32_t bits = addend.kind == Operand::Kind::kVector
                          ? wave.Row(addend.index + place.row)[place.lane] >> place.shift
                          : static_cast<uint32_t>(addend.value);
      Sum c = DecodeResult<R>(bits);
      if constexpr (!kSparse && std::is_same_v<Sum, float>) {
        if (m.neg_hi >> 2 & 1) c = __builtin_fabsf(c);
        if (m.neg_lo >> 2 & 1) c = -c;
      }
      sums[i][j] = Accumulate<Sum, kK>(a[i], b[j], c, m.clamp);
    }
  }
  for (unsigned i = 0; i < kSize; ++i) {
    for (unsigned j = 0; j < kSize; ++j) {
      ResultPlace place = PlaceOfResult<R>(i, j, is_gfx12, is_wave64, is_high);
      uint32_t& word = wave.Row(to + place.row)[place.lane];
      uint32_t bits = EncodeResult<R>(sums[i][j]);
      word = Is16(R) ? (word & ~(0xFFFFu << place.shift)) | bits << place.shift : bits;
    }
  }
  return op + 1;
}

// ---- Rows ----

bool Prepare(const AsmInstruction& instruction, const Architecture&, Op* op, std::string* why) {
  for (unsigned i = 0; i < op->operand_count; ++i) {
    const Operand& operand = op->operand[i];
    bool may_be_constant = i == 3;
    if (operand.kind == Operand::Kind::kVector && !operand.negate && !operand.absolute) continue;
    if (operand.kind == Operand::Kind::kConstant && may_be_constant) continue;
    *why = "operand '" + instruction.operands[i].text + "'";
    return false;
  }
  return true;
}

constexpr Ty TypeOf(Result result) {
  return result == Result::kSingle    ? Ty::kF32
         : result == Result::kInteger ? Ty::kI32
         : result == Result::kHalf    ? Ty::kF16
                                      : Ty::kBF16;
}

template <unsigned kK, typename A, typename B, Result R>
constexpr Row Wmma(std::string_view mnemonic, uint32_t targets) {
  return {mnemonic,
          &ExecWaveMatrix<kK, A, B, R, false>,
          {TypeOf(R), Ty::kRaw, Ty::kRaw, TypeOf(R)},
          nullptr,
          kIgnoresExec,
          targets,
          &Prepare};
}
template <unsigned kK, typename A, typename B, Result R>
constexpr Row Swmmac(std::string_view mnemonic) {
  return {mnemonic,
          &ExecWaveMatrix<kK, A, B, R, true>,
          {TypeOf(R), Ty::kRaw, Ty::kRaw, Ty::kRaw},
          nullptr,
          kIgnoresExec,
          kGfx12Targets,
          &Prepare};
}

constexpr uint32_t kBoth = kGfx11Targets | kGfx12Targets;
using Half = HalfElement;
using Brain = BrainElement;
using Iu8 = IntElement<8>;
using Iu4 = IntElement<4>;
using enum Result;

constexpr Row kRows[] = {
    Wmma<16, Half, Half, kSingle>("v_wmma_f32_16x16x16_f16", kBoth),
    Wmma<16, Brain, Brain, kSingle>("v_wmma_f32_16x16x16_bf16", kBoth),
    Wmma<16, Half, Half, kHalf>("v_wmma_f16_16x16x16_f16", kBoth),
    Wmma<16, Brain, Brain, kBrain>("v_wmma_bf16_16x16x16_bf16", kBoth),
    Wmma<16, Iu8, Iu8, kInteger>("v_wmma_i32_16x16x16_iu8", kBoth),
    Wmma<16, Iu4, Iu4, kInteger>("v_wmma_i32_16x16x16_iu4", kBoth),
    Wmma<32, Iu4, Iu4, kInteger>("v_wmma_i32_16x16x32_iu4", kGfx12Targets),
    Wmma<16, Fp8, Fp8, kSingle>("v_wmma_f32_16x16x16_fp8_fp8", kGfx12Targets),
    Wmma<16, Fp8, Bf8, kSingle>("v_wmma_f32_16x16x16_fp8_bf8", kGfx12Targets),
    Wmma<16, Bf8, Fp8, kSingle>("v_wmma_f32_16x16x16_bf8_fp8", kGfx12Targets),
    Wmma<16, Bf8, Bf8, kSingle>("v_wmma_f32_16x16x16_bf8_bf8", kGfx12Targets),

    Swmmac<32, Half, Half, kSingle>("v_swmmac_f32_16x16x32_f16"),
    Swmmac<32, Brain, Brain, kSingle>("v_swmmac_f32_16x16x32_bf16"),
    Swmmac<32, Half, Half, kHalf>("v_swmmac_f16_16x16x32_f16"),
    Swmmac<32, Brain, Brain, kBrain>("v_swmmac_bf16_16x16x32_bf16"),
    Swmmac<32, Iu8, Iu8, kInteger>("v_swmmac_i32_16x16x32_iu8"),
    Swmmac<32, Iu4, Iu4, kInteger>("v_swmmac_i32_16x16x32_iu4"),
    Swmmac<64, Iu4, Iu4, kInteger>("v_swmmac_i32_16x16x64_iu4"),
    Swmmac<32, Fp8, Fp8, kSingle>("v_swmmac_f32_16x16x32_fp8_fp8"),
    Swmmac<32, Fp8, Bf8, kSingle>("v_swmmac_f32_16x16x32_fp8_bf8"),
    Swmmac<32, Bf8, Fp8, kSingle>("v_swmmac_f32_16x16x32_bf8_fp8"),
    Swmmac<32, Bf8, Bf8, kSingle>("v_swmmac_f32_16x16x32_bf8_bf8"),
};

}  // namespace

std::span<const Row> WaveMatrixRows() { return kRows; }

}  // namespace rochound::softgpu
