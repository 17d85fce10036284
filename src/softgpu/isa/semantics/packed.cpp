// SPDX-License-Identifier: MIT
//
// VOP3P: packed 16-bit and 32-bit arithmetic, and the mixed-precision fma. op_sel, op_sel_hi,
// neg_lo and neg_hi of the packed operands are applied before a lane loop sees them.
#include "softgpu/isa/semantics/packed.h"

#include <limits>
#include <vector>

#include "softgpu/isa/semantics/float_pick.h"
#include "softgpu/isa/tables.h"

namespace rochound::softgpu {
namespace {

constexpr Ty kV2F16 = Ty::kV2F16;
constexpr Ty kV2I16 = Ty::kV2I16;
constexpr Ty kV2F32 = Ty::kV2F32;

// ---- Integer halves ----

// Applies F to both halves as Element (int16_t or uint16_t); F returns int32_t.
template <typename Element, auto F, unsigned kSources, bool kSaturate>
void IntegerPairLanes(void* dst, const void* const* src, unsigned lanes) {
  auto* d = static_cast<uint32_t*>(dst);
  auto* a = static_cast<const uint32_t*>(src[0]);
  auto* b = static_cast<const uint32_t*>(src[1]);
  auto* c = static_cast<const uint32_t*>(kSources == 3 ? src[2] : src[1]);
  auto half = [](uint32_t x, uint32_t y, uint32_t z) -> uint32_t {
    auto e = [](uint32_t bits) -> int32_t { return static_cast<Element>(bits); };
    int64_t result;
    if constexpr (kSources == 3) {
      result = F(e(x), e(y), e(z));
    } else {
      result = F(e(x), e(y));
    }
    if constexpr (kSaturate) {
      constexpr int64_t kLow = std::numeric_limits<Element>::min();
      constexpr int64_t kHigh = std::numeric_limits<Element>::max();
      result = result < kLow ? kLow : result > kHigh ? kHigh : result;
    }
    return static_cast<uint16_t>(result);
  };
  for (unsigned base = 0; base < lanes; base += 32) {
#pragma GCC ivdep
    for (unsigned i = base; i < base + 32; ++i)
      d[i] = half(a[i], b[i], c[i]) | half(a[i] >> 16, b[i] >> 16, c[i] >> 16) << 16;
  }
}

// With clamp, the result saturates.
template <typename Element, auto F, unsigned kSources>
bool PrepareSaturating(const AsmInstruction& instruction, const Architecture&, Op* op,
                       std::string*) {
  if (instruction.modifiers.clamp) op->lanes = &IntegerPairLanes<Element, F, kSources, true>;
  return true;
}

bool RefuseClamp(const AsmInstruction& instruction, const Architecture&, Op*, std::string* why) {
  if (!instruction.modifiers.clamp) return true;
  *why = "clamp";
  return false;
}

template <typename Element, auto F, unsigned kSources = 2>
constexpr Row IntegerPair(std::string_view mnemonic) {
  Row row{mnemonic,
          &ExecVector,
          {kV2I16, kV2I16, kV2I16},
          &IntegerPairLanes<Element, F, kSources, false>};
  if (kSources == 3) row.types[3] = kV2I16;
  row.prepare = &PrepareSaturating<Element, F, kSources>;
  return row;
}

template <typename Element, auto F>
constexpr Row IntegerPairWithoutClamp(std::string_view mnemonic) {
  Row row = IntegerPair<Element, F>(mnemonic);
  row.prepare = &RefuseClamp;
  return row;
}

constexpr auto kAdd = [](int32_t a, int32_t b) { return a + b; };
constexpr auto kSub = [](int32_t a, int32_t b) { return a - b; };
constexpr auto kMin = [](int32_t a, int32_t b) { return a < b ? a : b; };
constexpr auto kMax = [](int32_t a, int32_t b) { return a > b ? a : b; };
constexpr auto kMul = [](int32_t a, int32_t b) { return int64_t{a} * b; };
constexpr auto kShiftLeft = [](int32_t a, int32_t b) { return b << (a & 15); };
constexpr auto kShiftRight = [](int32_t a, int32_t b) { return b >> (a & 15); };
constexpr auto kMad = [](int32_t a, int32_t b, int32_t c) { return int64_t{a} * b + c; };

// ---- Floats ----

template <auto F, auto FDirected = F>
constexpr Row HalfPair2(std::string_view mnemonic) {
  return {mnemonic, &ExecVector, {kV2F16, kV2F16, kV2F16}, &HalfPairLanes<2, F, FDirected>};
}

template <Pick kPick>
constexpr Row HalfPairPick(std::string_view mnemonic) {
  return PickRow<PickHalf, PickLayout::kBothHalves, kPick, kV2F16>(mnemonic);
}
template <Pick kPick, PickRules kRules>
constexpr Row HalfPairPickBy(std::string_view mnemonic) {
  return PickRowBy<PickHalf, PickLayout::kBothHalves, kPick, kV2F16, kRules>(mnemonic);
}

// Bits are only moved: the halves are not quieted and not flushed.
void PackLanes(void* dst, const void* const* src, unsigned lanes) {
  auto* d = static_cast<uint32_t*>(dst);
  auto* a = static_cast<const uint32_t*>(src[0]);
  auto* b = static_cast<const uint32_t*>(src[1]);
  for (unsigned i = 0; i < lanes; ++i) d[i] = (a[i] & 0xFFFF) | b[i] << 16;
}

// Pairs of floats are rows of twice as many floats.
template <auto F, unsigned kSources>
void FloatPairLanes(void* dst, const void* const* src, unsigned lanes) {
  auto* d = static_cast<float*>(dst);
  auto* a = static_cast<const float*>(src[0]);
  auto* b = static_cast<const float*>(src[1]);
  auto* c = static_cast<const float*>(kSources == 3 ? src[2] : src[1]);
  for (unsigned base = 0; base < 2 * lanes; base += 32) {
#pragma GCC ivdep
    for (unsigned i = base; i < base + 32; ++i) {
      if constexpr (kSources == 3) {
        d[i] = F(a[i], b[i], c[i]);
      } else {
        d[i] = F(a[i], b[i]);
      }
    }
  }
}

// Each result half takes its own source: op_sel picks the dword; op_sel_hi is not looked at.
const Op* ExecPairMove(Wave& wave, const Op* op) {
  uint64_t lanes = wave.exec();
  if (lanes == 0) return op + 1;
  RowBuffer buffers[2];
  const auto* a =
      static_cast<const uint64_t*>(FetchSource(wave, op, 1, 0, Ty::kB64, &buffers[0], &lanes));
  const auto* b =
      static_cast<const uint64_t*>(FetchSource(wave, op, 2, 1, Ty::kB64, &buffers[1], &lanes));
  unsigned a_shift = op->modifiers().op_sel & 1 ? 32 : 0;
  unsigned b_shift = op->modifiers().op_sel & 2 ? 32 : 0;
  RowBuffer result;
  for (unsigned i = 0; i < wave.lanes; ++i)
    result.u64()[i] = (a[i] >> a_shift & 0xFFFFFFFF) | (b[i] >> b_shift) << 32;
  StoreResult(wave, op, 0, Ty::kV2B32, &result, lanes);
  return op + 1;
}

bool RefusePairMoveModifiers(const AsmInstruction& instruction, const Architecture&, Op*,
                             std::string* why) {
  const Modifiers& m = instruction.modifiers;
  if (m.neg_lo == 0 && m.neg_hi == 0 && !m.clamp) return true;
  *why = "neg or clamp";
  return false;
}

// ---- Mixed precision ----

enum class MixResult : uint8_t { kSingle, kLowHalf, kHighHalf };

// Source `number` as floats: op_sel_hi says that it is a half, op_sel which; abs before neg.
void FetchMixed(Wave& wave, const Op* op, unsigned number, bool flush_halves, float* out) {
  const Operand& operand = op->operand[number + 1];
  const Modifiers& m = op->modifiers();
  bool is_constant = operand.kind == Operand::Kind::kConstant;
  RowBuffer buffer;
  const uint32_t* bits = nullptr;
  if (operand.kind == Operand::Kind::kVector) {
    bits = wave.Row(operand.index);
  } else {
    uint32_t value = ReadScalar32(wave, operand);
    for (unsigned i = 0; i < wave.lanes; ++i) buffer.u32()[i] = value;
    bits = buffer.u32();
  }
  if (m.op_sel_hi >> number & 1) {
    ReadHalves(bits, m.op_sel >> number & 1 ? 16 : 0, flush_halves, out, wave.lanes);
  } else {
    std::memcpy(out, bits, wave.lanes * sizeof(float));
  }
  if (is_constant) return;  // its sign is in its bits
  uint32_t keep = operand.absolute ? 0x7FFFFFFFu : ~0u;
  uint32_t flip = operand.negate ? 0x80000000u : 0;
  for (unsigned i = 0; i < wave.lanes; ++i)
    out[i] = std::bit_cast<float>((std::bit_cast<uint32_t>(out[i]) & keep) ^ flip);
}

// The fma is rounded to f32, and that to f16, each in its own mode.
template <MixResult kResult>
const Op* ExecMix(Wave& wave, const Op* op) {
  uint64_t lanes = wave.exec();
  if (lanes == 0) return op + 1;
  alignas(32) float in[3][kRowLanes];
  bool flush_halves = !(wave.mode >> 6 & 1);
  for (unsigned n = 0; n < 3; ++n) FetchMixed(wave, op, n, flush_halves, in[n]);
  alignas(32) float single[kRowLanes];
  RowBuffer result;
  {
    FloatMode mode(wave, Ty::kF32);
    ApplyRows<FmaFloat, 3>(in, single, wave.lanes);
  }
  if constexpr (kResult == MixResult::kSingle) {
    std::memcpy(result.bytes, single, wave.lanes * sizeof(float));
    StoreResult(wave, op, 0, Ty::kF32, &result, lanes);
    return op + 1;
  }
  if (op->modifiers().clamp && kResult == MixResult::kHighHalf) {
    bool nan_to_zero = !wave.architecture->mode_has_clamp_and_ieee || (wave.mode >> 8 & 1);
    for (unsigned i = 0; i < wave.lanes; ++i) {
      float x = single[i];
      single[i] = x != x ? (nan_to_zero ? 0.0f : x) : x <= 0.0f ? 0.0f : x >= 1.0f ? 1.0f : x;
    }
  }
  {
    FloatMode mode(wave, Ty::kF16);
    WriteHalves(single, HostMode::Now().flush_results, result.u32(), wave.lanes);
  }
  if constexpr (kResult == MixResult::kLowHalf) {
    StoreResult(wave, op, 0, Ty::kF16, &result, lanes);
  } else {
    uint32_t* dst = wave.Row(op->operand[0].index);
    for (unsigned i = 0; i < wave.lanes; ++i)
      result.u32()[i] = (dst[i] & 0xFFFF) | result.u32()[i] << 16;
    Blend(dst, result.u32(), lanes, wave.lanes);
  }
  return op + 1;
}

// What a float constant is when it is read as a half, the manuals do not say.
bool PrepareMix(const AsmInstruction& instruction, const Architecture&, Op* op, std::string* why) {
  for (unsigned n = 0; n < 3; ++n) {
    if (op->operand[n + 1].kind == Operand::Kind::kConstant && op->operand[n + 1].value != 0 &&
        (instruction.modifiers.op_sel_hi >> n & 1)) {
      *why = "constant read as f16";
      return false;
    }
  }
  return true;
}

template <MixResult kResult>
constexpr Row Mix(std::string_view mnemonic) {
  Ty type = kResult == MixResult::kSingle ? Ty::kF32 : Ty::kF16;
  return {mnemonic,   &ExecMix<kResult>, {type, Ty::kF32, Ty::kF32, Ty::kF32},
          nullptr,    kKeepsHigh16,      kAllTargets,
          &PrepareMix};
}

constexpr Row kRows[] = {
    IntegerPair<int16_t, kAdd>("v_pk_add_i16"),
    IntegerPair<uint16_t, kAdd>("v_pk_add_u16"),
    IntegerPair<int16_t, kSub>("v_pk_sub_i16"),
    IntegerPair<uint16_t, kSub>("v_pk_sub_u16"),
    IntegerPair<int16_t, kMad, 3>("v_pk_mad_i16"),
    IntegerPair<uint16_t, kMad, 3>("v_pk_mad_u16"),
    IntegerPair<int16_t, kMin>("v_pk_min_i16"),
    IntegerPair<uint16_t, kMin>("v_pk_min_u16"),
    IntegerPair<int16_t, kMax>("v_pk_max_i16"),
    IntegerPair<uint16_t, kMax>("v_pk_max_u16"),
    IntegerPairWithoutClamp<uint16_t, kMul>("v_pk_mul_lo_u16"),
    IntegerPairWithoutClamp<uint16_t, kShiftLeft>("v_pk_lshlrev_b16"),
    IntegerPairWithoutClamp<uint16_t, kShiftRight>("v_pk_lshrrev_b16"),
    IntegerPairWithoutClamp<int16_t, kShiftRight>("v_pk_ashrrev_i16"),

    {"v_pack_b32_f16", &ExecVector, {Ty::kB32, Ty::kF16, Ty::kF16}, &PackLanes},
    HalfPair2<[](float a, float b) { return a + b; }>("v_pk_add_f16"),
    HalfPair2<[](float a, float b) { return a * b; }>("v_pk_mul_f16"),
    {"v_pk_fma_f16",
     &ExecVector,
     {kV2F16, kV2F16, kV2F16, kV2F16},
     &HalfPairLanes<3, FmaHalfToOdd, FmaFloat>},
    {"v_pk_fmac_f16",
     &ExecVector,
     {kV2F16, kV2F16, kV2F16},
     &HalfPairLanes<3, FmaHalfToOdd, FmaFloat>,
     kAccumulates,
     kAllTargets,
     &RefuseSignsOnPairs},
    HalfPairPick<Pick::kMin>("v_pk_min_f16"),
    HalfPairPick<Pick::kMax>("v_pk_max_f16"),
    HalfPairPickBy<Pick::kMin, kNumbersWin>("v_pk_min_num_f16"),
    HalfPairPickBy<Pick::kMax, kNumbersWin>("v_pk_max_num_f16"),
    HalfPairPickBy<Pick::kMin, kNansWin>("v_pk_minimum_f16"),
    HalfPairPickBy<Pick::kMax, kNansWin>("v_pk_maximum_f16"),

    {"v_pk_fma_f32",
     &ExecVector,
     {kV2F32, kV2F32, kV2F32, kV2F32},
     &FloatPairLanes<FmaFloat, 3>,
     0,
     kGfx9Targets},
    {"v_pk_mul_f32",
     &ExecVector,
     {kV2F32, kV2F32, kV2F32},
     &FloatPairLanes<[](float a, float b) { return a * b; }, 2>,
     0,
     kGfx9Targets},
    {"v_pk_add_f32",
     &ExecVector,
     {kV2F32, kV2F32, kV2F32},
     &FloatPairLanes<[](float a, float b) { return a + b; }, 2>,
     0,
     kGfx9Targets},
    {"v_pk_mov_b32",
     &ExecPairMove,
     {Ty::kV2B32, Ty::kV2B32, Ty::kV2B32},
     nullptr,
     0,
     kGfx9Targets,
     &RefusePairMoveModifiers},

    Mix<MixResult::kSingle>("v_fma_mix_f32"),
    Mix<MixResult::kLowHalf>("v_fma_mixlo_f16"),
    Mix<MixResult::kHighHalf>("v_fma_mixhi_f16"),
};

}  // namespace

std::span<const Row> PackedRows() {
  // Never destroyed: waves may still run while the process exits.
  static const std::vector<Row>* rows = [] {
    auto* all = new std::vector<Row>(std::begin(kRows), std::end(kRows));
    std::span<const Row> dot = DotRows();
    all->insert(all->end(), dot.begin(), dot.end());
    return all;
  }();
  return *rows;
}

}  // namespace rochound::softgpu
