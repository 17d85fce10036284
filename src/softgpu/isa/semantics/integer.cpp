// SPDX-License-Identifier: MIT
//
// VALU integer and bit operations, and moves. Functions are free of branches so that their loops
// are vectorised. The clamp modifier saturates: rows that can say what that means name a second
// function for it, which is chosen when the instruction is decoded; the others refuse it.
#include <algorithm>
#include <limits>

#include "softgpu/isa/semantics/bit_math.h"
#include "softgpu/isa/semantics/carry.h"
#include "softgpu/isa/semantics/row_chunks.h"
#include "softgpu/isa/semantics/sad.h"
#include "softgpu/isa/semantics/wide_integer.h"
#include "softgpu/isa/tables.h"
#include "softgpu/isa/vector.h"

namespace rochound::softgpu {
namespace {

using enum Ty;

constexpr uint32_t kSinceGfx11 = kGfx11Targets | kGfx12Targets;

// ---- Row builders ----

template <LaneLoop Saturating>
bool PrepareClamp(const AsmInstruction& instruction, const Architecture&, Op* op, std::string*) {
  if (instruction.modifiers.clamp) op->lanes = Saturating;
  return true;
}

bool RefuseClamp(const AsmInstruction& instruction, const Architecture&, Op*, std::string* why) {
  if (!instruction.modifiers.clamp) return true;
  *why = "clamp";
  return false;
}

bool RefuseClampAndHalves(const AsmInstruction& instruction, const Architecture&, Op*,
                          std::string* why) {
  if (!instruction.modifiers.clamp && instruction.modifiers.op_sel == 0) return true;
  *why = "clamp or op_sel";
  return false;
}

// Refuses clamp.
template <auto F, Ty D, Ty... S>
constexpr Row Bits(std::string_view mnemonic, uint32_t targets = kAllTargets) {
  return {mnemonic, &ExecVector, {D, S...}, LanesOf<F, D, S...>(), 0, targets, &RefuseClamp};
}

// Takes the executor if the sources are plain. Refuses clamp.
template <Exec Plain>
bool PrepareWide(const AsmInstruction& instruction, const Architecture& architecture, Op* op,
                 std::string* why) {
  if (HasPlainSources(instruction)) op->exec = Plain;
  return RefuseClamp(instruction, architecture, op, why);
}

// Bits, with a faster executor for plain sources.
template <Exec Plain, auto F, Ty D, Ty... S>
constexpr Row Wide(std::string_view mnemonic, uint32_t targets = kAllTargets) {
  return {mnemonic, &ExecVector, {D, S...}, LanesOf<F, D, S...>(), 0, targets, &PrepareWide<Plain>};
}

// F gives the exact result: in int64_t, or in int32_t if no more can come of 16-bit sources. It is
// cut to the destination's width, or saturated with clamp.
template <auto F, Ty D, Ty... S>
constexpr Row Exact(std::string_view mnemonic, uint32_t targets = kAllTargets, uint32_t flags = 0) {
  using Value = typename Lane<D>::Value;
  constexpr auto cut = [](typename Lane<S>::Value... s) { return static_cast<Value>(F(s...)); };
  constexpr auto saturate = [](typename Lane<S>::Value... s) {
    auto exact = F(s...);
    using Wide = decltype(exact);
    return static_cast<Value>(std::clamp(exact,
                                         static_cast<Wide>(std::numeric_limits<Value>::min()),
                                         static_cast<Wide>(std::numeric_limits<Value>::max())));
  };
  return {mnemonic,
          &ExecVector,
          {D, S...},
          LanesOf<cut, D, S...>(),
          flags,
          targets,
          &PrepareClamp<LanesOf<saturate, D, S...>()>};
}

// Clamp changes nothing: the result is one of the sources.
template <auto F, Ty T, Ty... S>
constexpr Row Pick(std::string_view mnemonic, uint32_t flags = 0) {
  return Vector<F, T, S...>(mnemonic, flags);
}

constexpr Row WithMask(std::string_view mnemonic, Exec exec, bool carry_in,
                       uint32_t targets = kAllTargets) {
  Row row = {mnemonic, exec, {kU32, kMask, kU32, kU32}, nullptr, 0, targets, &PrepareSources};
  if (carry_in) row.types[4] = kMask;
  return row;
}

// ---- Functions ----

constexpr auto kMin = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto kMax = [](auto a, auto b) { return a < b ? b : a; };
constexpr auto kMin3 = [](auto a, auto b, auto c) { return kMin(kMin(a, b), c); };
constexpr auto kMax3 = [](auto a, auto b, auto c) { return kMax(kMax(a, b), c); };
constexpr auto kMed3 = [](auto a, auto b, auto c) { return kMax(kMin(a, b), kMin(kMax(a, b), c)); };
constexpr auto kMove = [](auto a) { return a; };
constexpr auto kAdd = [](auto a, auto b) { return int64_t{a} + b; };
constexpr auto kSubtract = [](auto a, auto b) { return int64_t{a} - b; };
constexpr auto kSubtractReversed = [](auto a, auto b) { return int64_t{b} - a; };
constexpr auto kAdd16 = [](auto a, auto b) { return int32_t{a} + b; };
constexpr auto kSubtract16 = [](auto a, auto b) { return int32_t{a} - b; };
constexpr auto kSubtractReversed16 = [](auto a, auto b) { return int32_t{b} - a; };
constexpr auto kMultiplyAdd = [](auto a, auto b, auto c) { return int64_t{a} * b + c; };

int64_t MultiplyI24(uint32_t a, uint32_t b) { return int64_t{SignExtend24(a)} * SignExtend24(b); }
int64_t MultiplyU24(uint32_t a, uint32_t b) {
  return int64_t{a & 0xFFFFFF} * int64_t{b & 0xFFFFFF};
}

int32_t ExtractSigned(int32_t x, uint32_t offset, uint32_t width) {
  uint32_t spare = (32 - width) & 31;
  uint32_t shifted = static_cast<uint32_t>(x >> (offset & 31)) << spare;
  int32_t field = static_cast<int32_t>(shifted) >> spare;
  return (width & 31) == 0 ? 0 : field;
}

uint32_t AlignRight(uint32_t high, uint32_t low, uint32_t bits) {
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> bits);
}

uint32_t LerpBytes(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i)
    result |= (ByteOf(a, i) + ByteOf(b, i) + (c >> (8 * i) & 1)) >> 1 << (8 * i);
  return result;
}

// v_perm_b32: each byte of the selector names a byte of the result: 0..3 of the second source, 4..7
// of the first, 8..11 the sign of every second byte, 12 zero, more than that all ones.
void PermuteBytes(void* dst, const void* const* src, unsigned lanes) {
  auto* d = static_cast<uint32_t*>(dst);
  // Two lanes share a half of the host's table: the second one's bytes start at eight.
  const Chunk base = _mm256_setr_epi32(0, 0x08080808, 0, 0x08080808, 0, 0x08080808, 0, 0x08080808);
  auto greater = [](Chunk x, char limit) {
    Chunk above = _mm256_set1_epi8(static_cast<char>(limit + 1));
    return _mm256_cmpeq_epi8(_mm256_max_epu8(x, above), x);
  };
  for (unsigned i = 0; i < lanes; i += kChunkLanes) {
    Chunk high = LoadChunk(static_cast<const uint32_t*>(src[0]), i);
    Chunk low = LoadChunk(static_cast<const uint32_t*>(src[1]), i);
    Chunk select = LoadChunk(static_cast<const uint32_t*>(src[2]), i);
    Chunk table0 = _mm256_unpacklo_epi32(low, high);
    Chunk table1 = _mm256_unpackhi_epi32(low, high);
    auto look_up = [&](Chunk even, Chunk odd, Chunk index) {
      index = _mm256_add_epi8(index, base);
      return _mm256_blend_epi32(_mm256_shuffle_epi8(even, index), _mm256_shuffle_epi8(odd, index),
                                0xCC);
    };
    Chunk bytes = look_up(table0, table1, _mm256_and_si256(select, _mm256_set1_epi8(7)));
    Chunk twice = _mm256_add_epi8(select, select);
    Chunk sign_index =
        _mm256_or_si256(_mm256_and_si256(twice, _mm256_set1_epi8(6)), _mm256_set1_epi8(1));
    Chunk signs = _mm256_cmpgt_epi8(_mm256_setzero_si256(), look_up(table0, table1, sign_index));
    Chunk result = _mm256_blendv_epi8(bytes, signs, greater(select, 7));
    result = _mm256_andnot_si256(greater(select, 11), result);
    result = _mm256_or_si256(greater(select, 12), result);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(d + i), result);
  }
}

uint32_t SaturateBytes(uint32_t x) {
  int32_t low = static_cast<int16_t>(x);
  int32_t high = static_cast<int32_t>(x) >> 16;
  low = kMin(kMax(low, 0), 255);
  high = kMin(kMax(high, 0), 255);
  return static_cast<uint32_t>(high << 8 | low);
}

// Four sums for the four positions of `b` in `a`, 16 bits each.
template <bool Masked, bool Clamp>
uint64_t QuadSad(uint64_t a, uint32_t b, uint64_t c) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    uint32_t window = static_cast<uint32_t>(a >> (8 * i));
    uint32_t sum = (Masked ? MaskedSad8(window, b) : Sad8(window, b)) + (c >> (16 * i) & 0xFFFF);
    result |= uint64_t{Clamp ? kMin(sum, 0xFFFFu) : sum & 0xFFFF} << (16 * i);
  }
  return result;
}

// Bits of the mask below the lane's own, counted: lanes 0 to 31 and the rest.
void CountMaskLow(void* dst, const void* const* src, unsigned lanes) {
  auto* d = static_cast<uint32_t*>(dst);
  auto* mask = static_cast<const uint32_t*>(src[0]);
  auto* addend = static_cast<const uint32_t*>(src[1]);
#pragma GCC ivdep
  for (size_t i = 0; i < 32; ++i) d[i] = CountBits(mask[i] & ((1u << i) - 1)) + addend[i];
#pragma GCC ivdep
  for (size_t i = 32; i < lanes; ++i) d[i] = CountBits(mask[i]) + addend[i];
}

void CountMaskHigh(void* dst, const void* const* src, unsigned lanes) {
  auto* d = static_cast<uint32_t*>(dst);
  auto* mask = static_cast<const uint32_t*>(src[0]);
  auto* addend = static_cast<const uint32_t*>(src[1]);
#pragma GCC ivdep
  for (size_t i = 0; i < 32; ++i) d[i] = addend[i];
#pragma GCC ivdep
  for (size_t i = 32; i < lanes; ++i)
    d[i] = CountBits(mask[i] & ((1u << (i - 32)) - 1)) + addend[i];
}

// The 128-bit addend is read from registers.
bool PrepareMaskedQuadSad(const AsmInstruction& instruction, const Architecture&, Op* op,
                          std::string* why) {
  Operand::Kind kind = op->operand[3].kind;
  if (kind == Operand::Kind::kVector || kind == Operand::Kind::kScalar) return true;
  *why = "operand '" + instruction.operands[3].text + "'";
  return false;
}

template <bool Masked>
constexpr Row QuadSadRow(std::string_view mnemonic) {
  return {mnemonic,
          &ExecVector,
          {kU64, kU64, kU32, kU64},
          LanesOf<QuadSad<Masked, false>, kU64, kU64, kU32, kU64>(),
          0,
          kAllTargets,
          &PrepareClamp<LanesOf<QuadSad<Masked, true>, kU64, kU64, kU32, kU64>()>};
}

constexpr Row kRows[] = {
    // Moves and single bits
    Bits<kMove, kB32, kB32>("v_mov_b32"),
    Wide<&ExecMove64, kMove, kB64, kB64>("v_mov_b64", kGfx942 | kGfx950),
    {"v_cndmask_b32",
     &ExecSelect,
     {kB32, kB32, kB32, kMask},
     nullptr,
     0,
     kAllTargets,
     &PrepareSources},
    Bits<[](uint32_t a) { return ~a; }, kB32, kB32>("v_not_b32"),
    Bits<ReverseBits, kB32, kB32>("v_bfrev_b32"),
    Bits<FindHighestBit, kU32, kU32>("v_ffbh_u32"),
    Bits<FindLowestBit, kU32, kB32>("v_ffbl_b32"),
    Bits<FindSignChange, kU32, kI32>("v_ffbh_i32"),
    Bits<[](uint32_t a, uint32_t b) { return a & b; }, kB32, kB32, kB32>("v_and_b32"),
    Bits<[](uint32_t a, uint32_t b) { return a | b; }, kB32, kB32, kB32>("v_or_b32"),
    Bits<[](uint32_t a, uint32_t b) { return a ^ b; }, kB32, kB32, kB32>("v_xor_b32"),
    Bits<[](uint32_t a, uint32_t b) { return ~(a ^ b); }, kB32, kB32, kB32>("v_xnor_b32"),
    Bits<[](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; }, kB32, kB32, kB32, kB32>(
        "v_and_or_b32"),
    Bits<[](uint32_t a, uint32_t b, uint32_t c) { return a | b | c; }, kB32, kB32, kB32, kB32>(
        "v_or3_b32"),
    Bits<[](uint32_t a, uint32_t b, uint32_t c) { return a ^ b ^ c; }, kB32, kB32, kB32, kB32>(
        "v_xor3_b32", kRdnaTargets),
    Bits<[](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | (~a & c); }, kB32, kB32, kB32,
         kB32>("v_bfi_b32"),
    Bits<[](uint32_t x, uint32_t offset, uint32_t width) {
      return (x >> (offset & 31)) & ((1u << (width & 31)) - 1);
    },
         kU32, kU32, kU32, kU32>("v_bfe_u32"),
    Bits<ExtractSigned, kI32, kI32, kU32, kU32>("v_bfe_i32"),
    Bits<[](uint32_t width, uint32_t offset) {
      return ((1u << (width & 31)) - 1) << (offset & 31);
    },
         kB32, kU32, kU32>("v_bfm_b32"),
    Bits<[](uint32_t a, uint32_t b) { return CountBits(a) + b; }, kU32, kB32, kU32>(
        "v_bcnt_u32_b32"),
    {"v_mbcnt_lo_u32_b32",
     &ExecVector,
     {kU32, kB32, kU32},
     &CountMaskLow,
     0,
     kAllTargets,
     &RefuseClamp},
    {"v_mbcnt_hi_u32_b32",
     &ExecVector,
     {kU32, kB32, kU32},
     &CountMaskHigh,
     0,
     kAllTargets,
     &RefuseClamp},
    {"v_alignbit_b32",
     &ExecVector,
     {kB32, kB32, kB32, kU32},
     LanesOf<[](uint32_t a, uint32_t b, uint32_t c) { return AlignRight(a, b, c & 31); }, kB32,
             kB32, kB32, kU32>(),
     0,
     ~kSinceGfx11,
     &RefuseClampAndHalves},
    {"v_alignbit_b32",
     &ExecVector,
     {kB32, kB32, kB32, kU16},
     LanesOf<[](uint32_t a, uint32_t b, uint16_t c) { return AlignRight(a, b, c & 31); }, kB32,
             kB32, kB32, kU16>(),
     0,
     kSinceGfx11,
     &RefuseClamp},
    {"v_alignbyte_b32",
     &ExecVector,
     {kB32, kB32, kB32, kU32},
     LanesOf<[](uint32_t a, uint32_t b, uint32_t c) { return AlignRight(a, b, 8 * (c & 3)); }, kB32,
             kB32, kB32, kU32>(),
     0,
     ~kSinceGfx11,
     &RefuseClampAndHalves},
    {"v_alignbyte_b32",
     &ExecVector,
     {kB32, kB32, kB32, kU16},
     LanesOf<[](uint32_t a, uint32_t b, uint16_t c) { return AlignRight(a, b, 8 * (c & 3)); }, kB32,
             kB32, kB32, kU16>(),
     0,
     kSinceGfx11,
     &RefuseClamp},
    {"v_perm_b32",
     &ExecVector,
     {kB32, kB32, kB32, kB32},
     &PermuteBytes,
     0,
     kAllTargets,
     &RefuseClamp},
    Bits<SaturateBytes, kB16, kB32>("v_sat_pk_u8_i16"),

    // Shifts
    Bits<[](uint32_t n, uint32_t x) { return x << (n & 31); }, kB32, kU32, kB32>("v_lshlrev_b32"),
    Bits<[](uint32_t n, uint32_t x) { return (x >> (n & 31)); }, kB32, kU32, kB32>("v_lshrrev_b32"),
    Bits<[](uint32_t n, int32_t x) { return (x >> (n & 31)); }, kI32, kU32, kI32>("v_ashrrev_i32"),
    Wide<&ExecShiftLeft64, [](uint32_t n, uint64_t x) { return x << (n & 63); }, kB64, kU32, kB64>(
        "v_lshlrev_b64"),
    Wide<&ExecShiftRight64, [](uint32_t n, uint64_t x) { return (x >> (n & 63)); }, kB64, kU32,
         kB64>("v_lshrrev_b64"),
    Wide<&ExecShiftRightArithmetic64, [](uint32_t n, int64_t x) { return (x >> (n & 63)); }, kI64,
         kU32, kI64>("v_ashrrev_i64"),
    Bits<[](uint16_t n, uint16_t x) { return x << (n & 15); }, kB16, kU16, kB16>("v_lshlrev_b16"),
    Bits<[](uint16_t n, uint16_t x) { return (x >> (n & 15)); }, kB16, kU16, kB16>("v_lshrrev_b16"),
    Bits<[](uint16_t n, int16_t x) { return (x >> (n & 15)); }, kI16, kU16, kI16>("v_ashrrev_i16"),
    Bits<[](uint32_t a, uint32_t n, uint32_t c) { return (a << (n & 31)) | c; }, kB32, kB32, kU32,
         kB32>("v_lshl_or_b32"),
    Bits<[](uint32_t a, uint32_t n, uint32_t c) { return (a << (n & 31)) + c; }, kU32, kU32, kU32,
         kU32>("v_lshl_add_u32"),
    Bits<[](uint32_t a, uint32_t b, uint32_t n) { return (a + b) << (n & 31); }, kU32, kU32, kU32,
         kU32>("v_add_lshl_u32"),
    Wide<&ExecShiftAdd64, [](uint64_t a, uint32_t n, uint64_t c) { return (a << (n & 7)) + c; },
         kU64, kU64, kU32, kU64>("v_lshl_add_u64", kGfx942 | kGfx950),

    // Sums, 32 bits
    Exact<kAdd, kU32, kU32, kU32>("v_add_u32", kGfx9Targets),
    Exact<kSubtract, kU32, kU32, kU32>("v_sub_u32", kGfx9Targets),
    Exact<kSubtractReversed, kU32, kU32, kU32>("v_subrev_u32", kGfx9Targets),
    Exact<kAdd, kI32, kI32, kI32>("v_add_i32", kGfx9Targets),
    Exact<kSubtract, kI32, kI32, kI32>("v_sub_i32", kGfx9Targets),
    Exact<kAdd, kU32, kU32, kU32>("v_add_nc_u32", kRdnaTargets),
    Exact<kSubtract, kU32, kU32, kU32>("v_sub_nc_u32", kRdnaTargets),
    Exact<kSubtractReversed, kU32, kU32, kU32>("v_subrev_nc_u32", kRdnaTargets),
    Exact<kAdd, kI32, kI32, kI32>("v_add_nc_i32", kRdnaTargets),
    Exact<kSubtract, kI32, kI32, kI32>("v_sub_nc_i32", kRdnaTargets),
    Bits<[](uint32_t a, uint32_t b, uint32_t c) { return a + b + c; }, kU32, kU32, kU32, kU32>(
        "v_add3_u32"),
    Bits<[](uint32_t a, uint32_t b, uint32_t c) { return (a ^ b) + c; }, kU32, kU32, kU32, kU32>(
        "v_xad_u32"),
    WithMask("v_add_co_u32", &ExecAddCarryOut, false),
    WithMask("v_sub_co_u32", &ExecSubCarryOut, false),
    WithMask("v_subrev_co_u32", &ExecSubRevCarryOut, false),
    WithMask("v_addc_co_u32", &ExecAddCarryInOut, true, kGfx9Targets),
    WithMask("v_subb_co_u32", &ExecSubCarryInOut, true, kGfx9Targets),
    WithMask("v_subbrev_co_u32", &ExecSubRevCarryInOut, true, kGfx9Targets),
    WithMask("v_add_co_ci_u32", &ExecAddCarryInOut, true, kRdnaTargets),
    WithMask("v_sub_co_ci_u32", &ExecSubCarryInOut, true, kRdnaTargets),
    WithMask("v_subrev_co_ci_u32", &ExecSubRevCarryInOut, true, kRdnaTargets),

    // Products
    Exact<MultiplyI24, kI32, kU32, kU32>("v_mul_i32_i24"),
    Exact<MultiplyU24, kU32, kU32, kU32>("v_mul_u32_u24"),
    Bits<[](uint32_t a, uint32_t b) { return static_cast<int32_t>(MultiplyI24(a, b) >> 32); }, kI32,
         kU32, kU32>("v_mul_hi_i32_i24"),
    Bits<[](uint32_t a, uint32_t b) { return static_cast<uint32_t>(MultiplyU24(a, b) >> 32); },
         kU32, kU32, kU32>("v_mul_hi_u32_u24"),
    Exact<[](uint32_t a, uint32_t b, int32_t c) { return MultiplyI24(a, b) + c; }, kI32, kU32, kU32,
          kI32>("v_mad_i32_i24"),
    Exact<[](uint32_t a, uint32_t b, uint32_t c) { return MultiplyU24(a, b) + c; }, kU32, kU32,
          kU32, kU32>("v_mad_u32_u24"),
    Bits<[](uint32_t a, uint32_t b) { return a * b; }, kU32, kU32, kU32>("v_mul_lo_u32"),
    Bits<[](uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); }, kU32,
         kU32, kU32>("v_mul_hi_u32"),
    Bits<[](int32_t a, int32_t b) { return static_cast<int32_t>(int64_t{a} * b >> 32); }, kI32,
         kI32, kI32>("v_mul_hi_i32"),
    Exact<kMultiplyAdd, kU32, kU16, kU16, kU32>("v_mad_u32_u16"),
    Exact<kMultiplyAdd, kI32, kI16, kI16, kI32>("v_mad_i32_i16"),
    {"v_mad_u64_u32", &ExecMultiplyAddU64, {kU64, kMask, kU32, kU32, kU64}},
    {"v_mad_i64_i32", &ExecMultiplyAddI64, {kI64, kMask, kI32, kI32, kI64}},

    // Order
    Pick<kMin, kI32, kI32, kI32>("v_min_i32"),
    Pick<kMax, kI32, kI32, kI32>("v_max_i32"),
    Pick<kMin, kU32, kU32, kU32>("v_min_u32"),
    Pick<kMax, kU32, kU32, kU32>("v_max_u32"),
    Pick<kMin3, kI32, kI32, kI32, kI32>("v_min3_i32"),
    Pick<kMax3, kI32, kI32, kI32, kI32>("v_max3_i32"),
    Pick<kMed3, kI32, kI32, kI32, kI32>("v_med3_i32"),
    Pick<kMin3, kU32, kU32, kU32, kU32>("v_min3_u32"),
    Pick<kMax3, kU32, kU32, kU32, kU32>("v_max3_u32"),
    Pick<kMed3, kU32, kU32, kU32, kU32>("v_med3_u32"),
    Pick<kMin, kI16, kI16, kI16>("v_min_i16"),
    Pick<kMax, kI16, kI16, kI16>("v_max_i16"),
    Pick<kMin, kU16, kU16, kU16>("v_min_u16"),
    Pick<kMax, kU16, kU16, kU16>("v_max_u16"),
    // With op_sel since gfx9, where such instructions keep the other half of the register.
    Pick<kMin3, kI16, kI16, kI16, kI16>("v_min3_i16", kKeepsHigh16),
    Pick<kMax3, kI16, kI16, kI16, kI16>("v_max3_i16", kKeepsHigh16),
    Pick<kMed3, kI16, kI16, kI16, kI16>("v_med3_i16", kKeepsHigh16),
    Pick<kMin3, kU16, kU16, kU16, kU16>("v_min3_u16", kKeepsHigh16),
    Pick<kMax3, kU16, kU16, kU16, kU16>("v_max3_u16", kKeepsHigh16),
    Pick<kMed3, kU16, kU16, kU16, kU16>("v_med3_u16", kKeepsHigh16),

    // 16 bits
    Exact<kAdd16, kU16, kU16, kU16>("v_add_u16", kGfx9Targets),
    Exact<kSubtract16, kU16, kU16, kU16>("v_sub_u16", kGfx9Targets),
    Exact<kSubtractReversed16, kU16, kU16, kU16>("v_subrev_u16", kGfx9Targets),
    Exact<kAdd16, kI16, kI16, kI16>("v_add_i16", kGfx9Targets, kKeepsHigh16),
    Exact<kSubtract16, kI16, kI16, kI16>("v_sub_i16", kGfx9Targets, kKeepsHigh16),
    Exact<kAdd16, kU16, kU16, kU16>("v_add_nc_u16", kRdnaTargets),
    Exact<kSubtract16, kU16, kU16, kU16>("v_sub_nc_u16", kRdnaTargets),
    Exact<kAdd16, kI16, kI16, kI16>("v_add_nc_i16", kRdnaTargets),
    Exact<kSubtract16, kI16, kI16, kI16>("v_sub_nc_i16", kRdnaTargets),
    Exact<[](uint16_t a, uint16_t b) { return int64_t{a} * b; }, kU16, kU16, kU16>("v_mul_lo_u16"),
    Exact<kMultiplyAdd, kU16, kU16, kU16, kU16>("v_mad_u16", kAllTargets, kKeepsHigh16),
    Exact<kMultiplyAdd, kI16, kI16, kI16, kI16>("v_mad_i16", kAllTargets, kKeepsHigh16),
    Exact<kMultiplyAdd, kU16, kU16, kU16, kU16>("v_mad_legacy_u16", kGfx9Targets),
    Exact<kMultiplyAdd, kI16, kI16, kI16, kI16>("v_mad_legacy_i16", kGfx9Targets),

    // Bytes
    Bits<LerpBytes, kB32, kB32, kB32, kB32>("v_lerp_u8"),
    Exact<[](uint32_t a, uint32_t b, uint32_t c) { return int64_t{Sad8(a, b)} + c; }, kU32, kB32,
          kB32, kU32>("v_sad_u8"),
    Exact<[](uint32_t a, uint32_t b, uint32_t c) { return (int64_t{Sad8(a, b)} << 16) + c; }, kU32,
          kB32, kB32, kU32>("v_sad_hi_u8"),
    Exact<[](uint32_t a, uint32_t b, uint32_t c) { return int64_t{Sad16(a, b)} + c; }, kU32, kB32,
          kB32, kU32>("v_sad_u16"),
    Exact<[](uint32_t a, uint32_t b, uint32_t c) { return int64_t{AbsoluteDifference(a, b)} + c; },
          kU32, kU32, kU32, kU32>("v_sad_u32"),
    Exact<[](uint32_t a, uint32_t b, uint32_t c) { return int64_t{MaskedSad8(a, b)} + c; }, kU32,
          kB32, kB32, kU32>("v_msad_u8"),
    QuadSadRow<false>("v_qsad_pk_u16_u8"),
    QuadSadRow<true>("v_mqsad_pk_u16_u8"),
    {"v_mqsad_u32_u8",
     &ExecMaskedQuadSad,
     {kRaw, kU64, kU32, kRaw},
     nullptr,
     0,
     kAllTargets,
     &PrepareMaskedQuadSad},
};

}  // namespace

std::span<const Row> IntegerRows() { return kRows; }

}  // namespace rochound::softgpu
