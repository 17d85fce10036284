// SPDX-License-Identifier: MIT
//
// VALU conversions. Float to integer cuts towards zero, saturates, and makes 0 of NaN.
#include <cmath>
#include <limits>

#include "softgpu/isa/semantics/float_lanes.h"
#include "softgpu/isa/semantics/mini_float.h"
#include "softgpu/isa/semantics/ocp_float.h"
#include "softgpu/isa/tables.h"

namespace rochound::softgpu {
namespace {

constexpr Ty kB32 = Ty::kB32;
constexpr Ty kI32 = Ty::kI32;
constexpr Ty kU32 = Ty::kU32;
constexpr Ty kF32 = Ty::kF32;
constexpr Ty kF64 = Ty::kF64;
constexpr Ty kF16 = Ty::kF16;

template <typename T>
int32_t ToSigned(T x) {
  constexpr T kLimit = static_cast<T>(2147483648.0);
  bool fits = (x < kLimit) & (x >= -kLimit);
  int32_t cut = static_cast<int32_t>(fits ? x : T{0});
  int32_t beyond = x >= kLimit   ? std::numeric_limits<int32_t>::max()
                   : x < -kLimit ? std::numeric_limits<int32_t>::min()
                                 : 0;
  return fits ? cut : beyond;
}

template <typename T>
uint32_t ToUnsigned(T x) {
  constexpr T kHalf = static_cast<T>(2147483648.0);
  constexpr T kLimit = static_cast<T>(4294967296.0);
  bool is_upper = x >= kHalf;
  T low = is_upper ? x - kHalf : x;
  bool fits = (low < kHalf) & (low > T{0});
  uint32_t cut = static_cast<uint32_t>(static_cast<int32_t>(fits ? low : T{0}));
  cut |= is_upper ? 0x80000000u : 0u;
  return x >= kLimit ? ~0u : cut;
}

template <int kLow, int kHigh>
uint32_t ToShort(float x) {
  x = x > kHigh ? kHigh : x;
  x = x < kLow ? kLow : x;
  return static_cast<uint16_t>(static_cast<int32_t>(x == x ? x : 0.0f));
}

template <typename T, typename Wide>
T Saturate(Wide value) {
  constexpr Wide kLow = std::numeric_limits<T>::min();
  constexpr Wide kHigh = std::numeric_limits<T>::max();
  return static_cast<T>(value < kLow ? kLow : value > kHigh ? kHigh : value);
}

// Normalised integers: [-1, 1] or [0, 1] to the whole range, rounded; the product is exact.
uint32_t ToSnorm16(float x) {
  double scaled = static_cast<double>(x) * 32767.0;
  scaled = scaled > 32767.0 ? 32767.0 : scaled < -32767.0 ? -32767.0 : scaled;
  return x != x ? 0 : static_cast<uint16_t>(static_cast<int32_t>(std::nearbyint(scaled)));
}
uint32_t ToUnorm16(float x) {
  double scaled = static_cast<double>(x) * 65535.0;
  scaled = scaled > 65535.0 ? 65535.0 : scaled > 0.0 ? scaled : 0.0;
  return static_cast<uint16_t>(static_cast<int32_t>(std::nearbyint(scaled)));
}

// Rounded by MODE, unlike the other conversions to integers.
uint32_t ToByte(float x) {
  float rounded = std::nearbyint(x);
  return static_cast<uint32_t>(rounded > 255.0f ? 255
                               : rounded > 0.0f ? static_cast<int>(rounded)
                                                : 0);
}
uint32_t PutByte(float x, uint32_t byte, uint32_t others) {
  unsigned shift = 8 * (byte & 3);
  return (others & ~(0xFFu << shift)) | ToByte(x) << shift;
}

template <unsigned kByte>
float UnsignedByte(uint32_t x) {
  return static_cast<float>(x >> (8 * kByte) & 0xFF);
}

// ---- Halves: the source or the destination is read or written as a row ----

template <auto F>
void FromHalfLanes(void* dst, const void* const* src, unsigned lanes) {
  alignas(32) float value[kRowLanes];
  ReadHalves(src[0], 0, HostMode::Now().flush_inputs, value, lanes);
  auto* out = static_cast<uint32_t*>(dst);
  for (unsigned i = 0; i < lanes; ++i) out[i] = F(value[i]);
}
template <auto F>
constexpr Row FromHalf(std::string_view mnemonic, Ty destination) {
  return {mnemonic, &ExecInMode<kF16>, {destination, kF16}, &FromHalfLanes<F>};
}

template <auto F, Ty S>
void ToHalfLanes(void* dst, const void* const* src, unsigned lanes) {
  alignas(32) float value[kRowLanes];
  const auto* in = static_cast<const uint32_t*>(src[0]);
  for (unsigned i = 0; i < lanes; ++i) value[i] = F(Lane<S>::Get(in[i]));
  WriteHalves(value, HostMode::Now().flush_results, static_cast<uint32_t*>(dst), lanes);
}
template <auto F, Ty S>
constexpr Row ToHalf(std::string_view mnemonic) {
  return {mnemonic, &ExecVector, {kF16, S}, &ToHalfLanes<F, S>};
}

template <auto F>
void PackHalfLanes(void* dst, const void* const* src, unsigned lanes) {
  alignas(32) float low[kRowLanes];
  alignas(32) float high[kRowLanes];
  bool flush = HostMode::Now().flush_inputs;
  ReadHalves(src[0], 0, flush, low, lanes);
  ReadHalves(src[1], 0, flush, high, lanes);
  auto* out = static_cast<uint32_t*>(dst);
  for (unsigned i = 0; i < lanes; ++i) out[i] = F(low[i]) | F(high[i]) << 16;
}

// Two floats to two halves, always towards zero.
void PackTowardsZeroLanes(void* dst, const void* const* src, unsigned lanes) {
  bool flush = HostMode::Now().flush_results;
  const auto* low = static_cast<const float*>(src[0]);
  const auto* high = static_cast<const float*>(src[1]);
  auto* out = static_cast<uint32_t*>(dst);
  auto convert = [flush](const float* from) {
    __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_ZERO);
    __m256i bits = _mm256_cvtepu16_epi32(halves);
    return flush ? FlushHalves(bits) : bits;
  };
  for (unsigned i = 0; i < lanes; i += 8) {
    __m256i pair = _mm256_or_si256(convert(low + i), _mm256_slli_epi32(convert(high + i), 16));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), pair);
  }
}

// ---- 8-bit floats (gfx942's kind, and since gfx950 OCP's) ----

// MODE.FP16_OVFL also governs these: overflow gives the maximum instead of NaN.
bool SaturatesOverflow(const Wave& wave) { return wave.mode >> 23 & 1; }

// Op::imm is the position of the result in the destination; the other bits stay.
template <auto F>
const Op* ExecIntoPart(Wave& wave, const Op* op, uint32_t field) {
  uint64_t lanes = wave.exec();
  if (lanes == 0) return op + 1;
  RowBuffer buffers[2];
  const auto* a = static_cast<const uint32_t*>(
      FetchSource(wave, op, 1, 0, op->row->types[1], &buffers[0], &lanes));
  const auto* b = static_cast<const uint32_t*>(
      FetchSource(wave, op, 2, 1, op->row->types[2], &buffers[1], &lanes));
  bool saturate = SaturatesOverflow(wave);
  uint32_t* dst = wave.Row(op->operand[0].index);
  RowBuffer result;
  for (unsigned i = 0; i < wave.lanes; ++i)
    result.u32()[i] = (dst[i] & ~(field << op->imm)) | F(a[i], b[i], saturate) << op->imm;
  Blend(dst, result.u32(), lanes, wave.lanes);
  return op + 1;
}

template <typename Mini>
const Op* ExecPackMini(Wave& wave, const Op* op) {
  constexpr auto pack = [](uint32_t a, uint32_t b, bool saturate) {
    return Mini::Encode(std::bit_cast<float>(a), saturate, false, 0) |
           Mini::Encode(std::bit_cast<float>(b), saturate, false, 0) << 8;
  };
  return ExecIntoPart<pack>(wave, op, 0xFFFF);
}

// The manual's pseudo-code loses the carry out of the mantissa; here it goes into the exponent, so
// that the result is one of the two neighbours.
template <typename Mini>
const Op* ExecStochasticMini(Wave& wave, const Op* op) {
  constexpr auto round = [](uint32_t a, uint32_t random, bool saturate) {
    return Mini::Encode(std::bit_cast<float>(a), saturate, true, random);
  };
  return ExecIntoPart<round>(wave, op, 0xFF);
}

// op_sel of the destination, from the encoding: the text has as many fields as there are operands.
bool PrepareHalfPart(const AsmInstruction& instruction, const Architecture&, Op* op, std::string*) {
  op->imm = instruction.words[0] >> 14 & 1 ? 16 : 0;
  return true;
}
bool PrepareBytePart(const AsmInstruction& instruction, const Architecture&, Op* op, std::string*) {
  op->imm = 8 * (instruction.words[0] >> 13 & 3);
  return true;
}

// Rounding to 16 bits by random bits: they are added to what is cut off.
uint32_t ToBrainRandom(uint32_t bits, uint32_t random, bool) {
  uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return bits >> 16 | 0x40;
  if (magnitude < 0x7F800000u) bits += random >> 16;
  return bits >> 16;
}
uint32_t ToHalfRandom(uint32_t bits, uint32_t random, bool saturate) {
  using Half = OcpFloat<5, 10, OcpKind::kIeee>;
  return Half::EncodeRandom<23>(static_cast<double>(std::bit_cast<float>(bits)), saturate, random);
}
template <auto F>
const Op* ExecRandomHalf(Wave& wave, const Op* op) {
  return ExecIntoPart<F>(wave, op, 0xFFFF);
}

void PackHalvesLanes(void* dst, const void* const* src, unsigned lanes) {
  bool flush = HostMode::Now().flush_results;
  alignas(32) uint32_t high[kRowLanes];
  auto* out = static_cast<uint32_t*>(dst);
  WriteHalves(static_cast<const float*>(src[1]), flush, high, lanes);
  WriteHalves(static_cast<const float*>(src[0]), flush, out, lanes);
  for (unsigned i = 0; i < lanes; ++i) out[i] |= high[i] << 16;
}

template <typename Mini>
void UnpackMiniLanes(void* dst, const void* const* src, unsigned lanes) {
  const auto* in = static_cast<const uint32_t*>(src[0]);
  auto* out = static_cast<float*>(dst);
  for (unsigned i = 0; i < lanes; ++i) {
    out[2 * i] = Mini::kTable[in[i] & 0xFF];
    out[2 * i + 1] = Mini::kTable[in[i] >> 8 & 0xFF];
  }
}

template <typename Mini>
constexpr Row UnpackMini(std::string_view mnemonic, uint32_t targets) {
  return {mnemonic, &ExecVector, {Ty::kV2F32, kB32}, &UnpackMiniLanes<Mini>, 0, targets};
}
template <auto E, Ty Second>
constexpr Row IntoHalf(std::string_view mnemonic, uint32_t targets) {
  return {mnemonic, E, {kB32, kF32, Second}, nullptr, 0, targets, &PrepareHalfPart};
}
template <auto E>
constexpr Row IntoByte(std::string_view mnemonic, uint32_t targets) {
  return {mnemonic, E, {kB32, kF32, kU32}, nullptr, 0, targets, &PrepareBytePart};
}

// gfx12 names the byte of the source or of the destination by a modifier of its own.
bool PrepareByteSelect(const AsmInstruction& instruction, const Architecture&, Op* op,
                       std::string*) {
  op->imm = 8 * instruction.modifiers.byte_sel;
  return true;
}
constexpr Row For12(Row row, decltype(Row::prepare) prepare) {
  row.targets = kGfx12Targets;
  row.prepare = prepare;
  return row;
}

template <typename Mini>
const Op* ExecMiniByte(Wave& wave, const Op* op) {
  uint64_t lanes = wave.exec();
  if (lanes == 0) return op + 1;
  RowBuffer buffer;
  RowBuffer result;
  const auto* source =
      static_cast<const uint32_t*>(FetchSource(wave, op, 1, 0, kB32, &buffer, &lanes));
  for (unsigned i = 0; i < wave.lanes; ++i)
    result.u32()[i] = std::bit_cast<uint32_t>(Mini::kTable[source[i] >> op->imm & 0xFF]);
  StoreResult(wave, op, 0, kF32, &result, lanes);
  return op + 1;
}
template <typename Mini>
constexpr Row MiniByte(std::string_view mnemonic) {
  return For12({mnemonic, &ExecMiniByte<Mini>, {kF32, kB32}}, &PrepareByteSelect);
}
// The source is a half of a register.
template <typename Mini>
constexpr Row UnpackMiniHalf(std::string_view mnemonic) {
  return {mnemonic, &ExecVector, {Ty::kV2F32, Ty::kB16}, &UnpackMiniLanes<Mini>, 0, kGfx12Targets};
}

template <auto F, Ty D, Ty S>
constexpr Row Convert(std::string_view mnemonic, uint32_t targets = kAllTargets) {
  return Vector<F, D, S>(mnemonic, 0, targets);
}

constexpr Row kRows[] = {
    Convert<ToSigned<float>, kI32, kF32>("v_cvt_i32_f32"),
    Convert<ToUnsigned<float>, kU32, kF32>("v_cvt_u32_f32"),
    Convert<ToSigned<double>, kI32, kF64>("v_cvt_i32_f64"),
    Convert<ToUnsigned<double>, kU32, kF64>("v_cvt_u32_f64"),
    Convert<[](float x) { return ToSigned(std::floor(x + 0.5f)); }, kI32, kF32>(
        "v_cvt_rpi_i32_f32"),
    Convert<[](float x) { return ToSigned(std::floor(x)); }, kI32, kF32>("v_cvt_flr_i32_f32"),

    Convert<[](int32_t x) { return static_cast<float>(x); }, kF32, kI32>("v_cvt_f32_i32"),
    Convert<[](uint32_t x) { return static_cast<float>(x); }, kF32, kU32>("v_cvt_f32_u32"),
    Convert<[](int32_t x) { return static_cast<double>(x); }, kF64, kI32>("v_cvt_f64_i32"),
    Convert<[](uint32_t x) { return static_cast<double>(x); }, kF64, kU32>("v_cvt_f64_u32"),
    Convert<UnsignedByte<0>, kF32, kU32>("v_cvt_f32_ubyte0"),
    Convert<UnsignedByte<1>, kF32, kU32>("v_cvt_f32_ubyte1"),
    Convert<UnsignedByte<2>, kF32, kU32>("v_cvt_f32_ubyte2"),
    Convert<UnsignedByte<3>, kF32, kU32>("v_cvt_f32_ubyte3"),
    Convert<[](uint32_t x) { return static_cast<float>(static_cast<int32_t>(x << 28) >> 28) / 16; },
            kF32, kU32>("v_cvt_off_f32_i4"),

    Convert<[](double x) { return static_cast<float>(x); }, kF32, kF64>("v_cvt_f32_f64"),
    // Exact, but for denormal inputs: the mode of the source counts.
    {"v_cvt_f64_f32",
     &ExecInMode<kF32>,
     {kF64, kF32},
     &Lanes1<[](float x) { return static_cast<double>(x); }, kF64, kF32>},
    FromHalf<[](float x) { return std::bit_cast<uint32_t>(x); }>("v_cvt_f32_f16", kF32),
    ToHalf<[](float x) { return x; }, kF32>("v_cvt_f16_f32"),
    ToHalf<[](int16_t x) { return static_cast<float>(x); }, Ty::kI16>("v_cvt_f16_i16"),
    ToHalf<[](uint16_t x) { return static_cast<float>(x); }, Ty::kU16>("v_cvt_f16_u16"),
    FromHalf<ToShort<-32768, 32767>>("v_cvt_i16_f16", Ty::kI16),
    FromHalf<ToShort<0, 65535>>("v_cvt_u16_f16", Ty::kU16),
    FromHalf<ToSnorm16>("v_cvt_norm_i16_f16", Ty::kI16),
    FromHalf<ToUnorm16>("v_cvt_norm_u16_f16", Ty::kU16),

    {"v_cvt_pkrtz_f16_f32", &ExecVector, {Ty::kV2F16, kF32, kF32}, &PackTowardsZeroLanes},
    Vector<[](float a, float b) { return ToSnorm16(a) | ToSnorm16(b) << 16; }, kB32, kF32, kF32>(
        "v_cvt_pknorm_i16_f32"),
    Vector<[](float a, float b) { return ToUnorm16(a) | ToUnorm16(b) << 16; }, kB32, kF32, kF32>(
        "v_cvt_pknorm_u16_f32"),
    {"v_cvt_pknorm_i16_f16", &ExecInMode<kF16>, {kB32, kF16, kF16}, &PackHalfLanes<ToSnorm16>},
    {"v_cvt_pknorm_u16_f16", &ExecInMode<kF16>, {kB32, kF16, kF16}, &PackHalfLanes<ToUnorm16>},
    Vector<[](int32_t a, int32_t b) {
      return static_cast<uint32_t>(static_cast<uint16_t>(Saturate<int16_t>(a))) |
             static_cast<uint32_t>(static_cast<uint16_t>(Saturate<int16_t>(b))) << 16;
    },
           kB32, kI32, kI32>("v_cvt_pk_i16_i32"),
    Vector<[](uint32_t a, uint32_t b) {
      return uint32_t{Saturate<uint16_t>(a)} | uint32_t{Saturate<uint16_t>(b)} << 16;
    },
           kB32, kU32, kU32>("v_cvt_pk_u16_u32"),
    Vector<PutByte, kB32, kF32, kU32, kB32>("v_cvt_pk_u8_f32"),
    Accumulate<PutByte, kB32, kF32, kU32>("v_cvt_pkaccum_u8_f32", 0, kGfx9Targets),

    Convert<[](uint32_t x) { return Fp8::kTable[x & 0xFF]; }, kF32, kB32>("v_cvt_f32_fp8", kGfx942),
    Convert<[](uint32_t x) { return Bf8::kTable[x & 0xFF]; }, kF32, kB32>("v_cvt_f32_bf8", kGfx942),
    Convert<[](uint32_t x) { return OcpFp8::kTable[x & 0xFF]; }, kF32, kB32>("v_cvt_f32_fp8",
                                                                             kGfx950),
    Convert<[](uint32_t x) { return OcpBf8::kTable[x & 0xFF]; }, kF32, kB32>("v_cvt_f32_bf8",
                                                                             kGfx950),
    MiniByte<OcpFp8>("v_cvt_f32_fp8"),
    MiniByte<OcpBf8>("v_cvt_f32_bf8"),
    UnpackMini<Fp8>("v_cvt_pk_f32_fp8", kGfx942),
    UnpackMini<Bf8>("v_cvt_pk_f32_bf8", kGfx942),
    UnpackMini<OcpFp8>("v_cvt_pk_f32_fp8", kGfx950),
    UnpackMiniHalf<OcpFp8>("v_cvt_pk_f32_fp8"),
    UnpackMini<OcpBf8>("v_cvt_pk_f32_bf8", kGfx950),
    UnpackMiniHalf<OcpBf8>("v_cvt_pk_f32_bf8"),
    IntoHalf<ExecPackMini<Fp8>, kF32>("v_cvt_pk_fp8_f32", kGfx942),
    IntoHalf<ExecPackMini<Bf8>, kF32>("v_cvt_pk_bf8_f32", kGfx942),
    IntoHalf<ExecPackMini<OcpFp8>, kF32>("v_cvt_pk_fp8_f32", kGfx950 | kGfx12Targets),
    IntoHalf<ExecPackMini<OcpBf8>, kF32>("v_cvt_pk_bf8_f32", kGfx950 | kGfx12Targets),
    IntoByte<ExecStochasticMini<Fp8>>("v_cvt_sr_fp8_f32", kGfx942),
    IntoByte<ExecStochasticMini<Bf8>>("v_cvt_sr_bf8_f32", kGfx942),
    IntoByte<ExecStochasticMini<OcpFp8>>("v_cvt_sr_fp8_f32", kGfx950),
    For12(IntoByte<ExecStochasticMini<OcpFp8>>("v_cvt_sr_fp8_f32", kGfx12Targets),
          &PrepareByteSelect),
    IntoByte<ExecStochasticMini<OcpBf8>>("v_cvt_sr_bf8_f32", kGfx950),
    For12(IntoByte<ExecStochasticMini<OcpBf8>>("v_cvt_sr_bf8_f32", kGfx12Targets),
          &PrepareByteSelect),

    IntoHalf<ExecRandomHalf<ToHalfRandom>, kU32>("v_cvt_sr_f16_f32", kGfx950),
    IntoHalf<ExecRandomHalf<ToBrainRandom>, kU32>("v_cvt_sr_bf16_f32", kGfx950),
    Convert<[](float x) { return x; }, kF32, Ty::kBF16>("v_cvt_f32_bf16", kGfx950),
    {"v_cvt_pk_f16_f32", &ExecVector, {Ty::kV2F16, kF32, kF32}, &PackHalvesLanes, 0, kGfx950},
    Vector<[](float a, float b) { return FloatToBrain(a) | FloatToBrain(b) << 16; }, kB32, kF32,
           kF32>("v_cvt_pk_bf16_f32", 0, kGfx950),
};

}  // namespace

std::span<const Row> ConvertRows() { return kRows; }

}  // namespace rochound::softgpu
