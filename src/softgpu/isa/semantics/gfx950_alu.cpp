// SPDX-License-Identifier: MIT
//
// Vector instructions that came with gfx950 and belong to no older family: any function of three
// bits, shifts that pack bytes, random numbers, and the minimum and maximum of IEEE 754-2019, for
// which a NaN wins over numbers and -0 is less than +0.
#include <array>
#include <bit>
#include <utility>

#include "softgpu/isa/semantics/float_lanes.h"
#include "softgpu/isa/tables.h"

namespace rochound::softgpu {
namespace {

// ---- v_bitop3 ----

// Bit 4 a + 2 b + c of kTable is the result for these bits of the sources.
template <unsigned kTable>
uint32_t BitFunction(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result = 0;
  for (unsigned i = 0; i < 8; ++i) {
    if (kTable >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  }
  return result;
}

template <Ty T, size_t... kTables>
constexpr std::array<LaneLoop, sizeof...(kTables)> LoopsOf(std::index_sequence<kTables...>) {
  return {&Lanes3<BitFunction<kTables>, T, T, T, T>...};
}
template <Ty T>
constexpr auto kLoops = LoopsOf<T>(std::make_index_sequence<256>());

// The table is in the fields of omod, abs and neg.
template <Ty T>
bool PrepareTable(const AsmInstruction& instruction, const Architecture&, Op* op, std::string*) {
  uint32_t table = (instruction.words[1] >> 27 & 3) << 6 | (instruction.words[0] >> 8 & 7) << 3 |
                   instruction.words[1] >> 29;
  op->lanes = kLoops<T>[table];
  return true;
}

template <Ty T>
constexpr Row BitTable(std::string_view mnemonic, uint32_t flags) {
  return {mnemonic, &ExecVector, {T, T, T, T}, kLoops<T>[0], flags, kGfx950, &PrepareTable<T>};
}

// ---- Integers ----

template <int32_t kLow, int32_t kHigh>
uint16_t ShiftToBytes(int32_t a, int32_t b, uint32_t shift) {
  auto byte = [shift](int32_t x) {
    x >>= shift & 31;
    return static_cast<uint32_t>(x < kLow ? kLow : x > kHigh ? kHigh : x) & 0xFF;
  };
  return static_cast<uint16_t>(byte(a) | byte(b) << 8);
}

// A linear feedback shift register.
uint32_t NextRandom(uint32_t x) { return x << 1 ^ (x >> 31 ? 0xC5u : 0u); }

// ---- Minimum and maximum ----

// The lesser of two bit patterns as numbers, with -0 below +0.
template <bool kMaximum>
float Extreme(float a, float b) {
  if (a != a) return a + a;  // quiet
  if (b != b) return b + b;
  if (a == b) {
    uint32_t x = std::bit_cast<uint32_t>(a), y = std::bit_cast<uint32_t>(b);
    return std::bit_cast<float>(kMaximum ? x & y : x | y);
  }
  return (a < b) == kMaximum ? b : a;
}
template <bool kMaximum>
float Extreme3(float a, float b, float c) {
  return Extreme<kMaximum>(Extreme<kMaximum>(a, b), c);
}

template <bool kMaximum>
void ExtremePairLanes(void* dst, const void* const* src, unsigned lanes) {
  bool flush = HostMode::Now().flush_inputs;
  alignas(32) float value[3][kRowLanes];
  alignas(32) uint32_t half[2][kRowLanes];
  for (int part = 0; part < 2; ++part) {
    for (int n = 0; n < 3; ++n) ReadHalves(src[n], 16 * part, flush, value[n], lanes);
    for (unsigned i = 0; i < lanes; ++i)
      value[0][i] = Extreme3<kMaximum>(value[0][i], value[1][i], value[2][i]);
    WriteHalves(value[0], false, half[part], lanes);
  }
  auto* out = static_cast<uint32_t*>(dst);
  for (unsigned i = 0; i < lanes; ++i) out[i] = half[0][i] | half[1][i] << 16;
}

template <bool kMaximum>
constexpr Row ExtremePair(std::string_view mnemonic) {
  return {mnemonic,
          &ExecVector,
          {Ty::kV2F16, Ty::kV2F16, Ty::kV2F16, Ty::kV2F16},
          &ExtremePairLanes<kMaximum>,
          0,
          kGfx950};
}

constexpr Row kRows[] = {
    BitTable<Ty::kB32>("v_bitop3_b32", 0),
    BitTable<Ty::kB16>("v_bitop3_b16", kKeepsHigh16),
    Vector<ShiftToBytes<-128, 127>, Ty::kB16, Ty::kI32, Ty::kI32, Ty::kU32>("v_ashr_pk_i8_i32",
                                                                            kKeepsHigh16, kGfx950),
    Vector<ShiftToBytes<0, 255>, Ty::kB16, Ty::kI32, Ty::kI32, Ty::kU32>("v_ashr_pk_u8_i32",
                                                                         kKeepsHigh16, kGfx950),
    Vector<NextRandom, Ty::kB32, Ty::kB32>("v_prng_b32", 0, kGfx950),
    Vector<Extreme3<false>, Ty::kF32, Ty::kF32, Ty::kF32, Ty::kF32>("v_minimum3_f32", 0, kGfx950),
    Vector<Extreme3<true>, Ty::kF32, Ty::kF32, Ty::kF32, Ty::kF32>("v_maximum3_f32", 0, kGfx950),
    ExtremePair<false>("v_pk_minimum3_f16"),
    ExtremePair<true>("v_pk_maximum3_f16"),
};

}  // namespace

std::span<const Row> Gfx950AluRows() { return kRows; }

}  // namespace rochound::softgpu
