// SPDX-License-Identifier: MIT
//
// What the floating-point families share: executors for lane loops that depend on MODE beyond what
// FloatMode does, and rows of 16-bit floats, whose denormal mode the host's F16C does not know.
// Called by the rows in semantics/ on the thread that runs the wave; nothing here keeps state.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <string_view>

#include "softgpu/isa/vector.h"

namespace rochound::softgpu {

// ExecVector with the lane loop chosen at run time. `mode` is the type whose rounding and denormal
// mode holds, where that is not the destination's. `direct`: see WritesDirectly.
const Op* RunVector(Wave& wave, const Op* op, LaneLoop loop, Ty mode, bool direct = false);

// For Row::prepare of 32-bit rows: sets Op::imm2 if the lane loop may write the destination itself
// when all lanes are on.
bool WritesDirectly(const AsmInstruction& instruction, const Architecture& architecture, Op* op,
                    std::string* why);

// ExecVector in the mode of M instead of the destination's type.
template <Ty M>
const Op* ExecInMode(Wave& wave, const Op* op) {
  return RunVector(wave, op, op->lanes, M);
}

// MODE.IEEE: min and max quiet and propagate signaling NaNs.
inline bool IeeeMode(const Wave& wave) {
  return wave.architecture->mode_has_clamp_and_ieee && (wave.mode >> 9 & 1);
}

// For Row::prepare of packed and dot rows: abs and neg of the VOP3 encoding have no meaning for a
// pair of halves.
bool RefuseSignsOnPairs(const AsmInstruction& instruction, const Architecture& architecture, Op* op,
                        std::string* why);

// What FloatMode put into MXCSR, for code that does by hand what SSE does for float and double.
struct HostMode {
  bool flush_inputs;
  bool flush_results;
  bool to_nearest;

  static HostMode Now() {
    uint32_t control = _mm_getcsr();
    return {(control & 0x0040) != 0, (control & 0x8000) != 0, (control & 0x6000) == 0};
  }
};

// ---- Rows of halves ----

inline __m256i FlushHalves(__m256i bits) {
  __m256i exponent = _mm256_and_si256(bits, _mm256_set1_epi32(0x7C00));
  __m256i is_zero = _mm256_cmpeq_epi32(exponent, _mm256_setzero_si256());
  return _mm256_andnot_si256(_mm256_and_si256(is_zero, _mm256_set1_epi32(0x7FFF)), bits);
}

// The low (shift 0) or high (shift 16) halves of a row as floats; exact.
inline void ReadHalves(const void* row, int shift, bool flush, float* out, unsigned lanes) {
  const auto* words = static_cast<const uint32_t*>(row);
  for (unsigned i = 0; i < lanes; i += 8) {
    __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + i));
    bits = _mm256_and_si256(_mm256_srl_epi32(bits, _mm_cvtsi32_si128(shift)),
                            _mm256_set1_epi32(0xFFFF));
    if (flush) bits = FlushHalves(bits);
    __m128i packed =
        _mm_packus_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(packed));
  }
}

// Rounds by MXCSR; the result is in the low half, the high half is zero.
inline void WriteHalves(const float* values, bool flush, uint32_t* row, unsigned lanes) {
  for (unsigned i = 0; i < lanes; i += 8) {
    __m128i packed = _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_CUR_DIRECTION);
    __m256i bits = _mm256_cvtepu16_epi32(packed);
    if (flush) bits = FlushHalves(bits);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + i), bits);
  }
}

template <auto F, unsigned kSources>
inline void ApplyRows(const float (*in)[kRowLanes], float* out, unsigned lanes) {
  for (unsigned base = 0; base < lanes; base += 32) {
#pragma GCC ivdep
    for (unsigned i = base; i < base + 32; ++i) {
      if constexpr (kSources == 1) out[i] = F(in[0][i]);
      if constexpr (kSources == 2) out[i] = F(in[0][i], in[1][i]);
      if constexpr (kSources == 3) out[i] = F(in[0][i], in[1][i], in[2][i]);
    }
  }
}

template <auto F, auto FDirected, unsigned kSources>
inline void ApplyHalves(const void* const* src, int shift, HostMode mode, uint32_t* out,
                        unsigned lanes) {
  alignas(32) float in[kSources][kRowLanes];
  alignas(32) float result[kRowLanes];
  for (unsigned n = 0; n < kSources; ++n)
    ReadHalves(src[n], shift, mode.flush_inputs, in[n], lanes);
  if (mode.to_nearest) {
    ApplyRows<F, kSources>(in, result, lanes);
  } else {
    ApplyRows<FDirected, kSources>(in, result, lanes);
  }
  WriteHalves(result, mode.flush_results, out, lanes);
}

// F computes in float. Its result is rounded once more, so F must be exact, or round to odd, or
// (add, multiply, divide, square root) be one float operation, of which twice rounded is once
// rounded. In the directed rounding modes two roundings are always as good as one: FDirected may
// then be simpler.
template <unsigned kSources, auto F, auto FDirected = F>
void HalfLanes(void* dst, const void* const* src, unsigned lanes) {
  ApplyHalves<F, FDirected, kSources>(src, 0, HostMode::Now(), static_cast<uint32_t*>(dst), lanes);
}

template <unsigned kSources, auto F, auto FDirected = F>
void HalfPairLanes(void* dst, const void* const* src, unsigned lanes) {
  HostMode mode = HostMode::Now();
  alignas(32) uint32_t low[kRowLanes];
  alignas(32) uint32_t high[kRowLanes];
  ApplyHalves<F, FDirected, kSources>(src, 0, mode, low, lanes);
  ApplyHalves<F, FDirected, kSources>(src, 16, mode, high, lanes);
  auto* out = static_cast<uint32_t*>(dst);
  for (unsigned i = 0; i < lanes; ++i) out[i] = low[i] | high[i] << 16;
}

// a * b + c of halves, rounded to odd in float: rounding that to half is rounding once. The product
// of two halves is exact in float; the sum's error is found exactly (nearest mode only).
inline float FmaHalfToOdd(float a, float b, float c) {
  float product = a * b;
  float sum = product + c;
  float part = sum - product;
  float error = (product - (sum - part)) + (c - part);
  uint32_t bits = std::bit_cast<uint32_t>(sum);
  uint32_t inexact = (error > 0.0f) | (error < 0.0f);
  uint32_t toward_zero = (std::bit_cast<uint32_t>(error) ^ bits) >> 31;
  uint32_t step = inexact & ~bits & 1u;
  return std::bit_cast<float>(bits + step - 2u * (step & toward_zero));
}
inline float FmaFloat(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// ---- Row builders ----

template <auto F, auto FDirected = F>
constexpr Row Half1(std::string_view mnemonic, uint32_t flags = 0, uint32_t targets = kAllTargets) {
  return {mnemonic, &ExecVector, {Ty::kF16, Ty::kF16}, &HalfLanes<1, F, FDirected>, flags, targets};
}
template <auto F, auto FDirected = F>
constexpr Row Half2(std::string_view mnemonic, uint32_t flags = 0, uint32_t targets = kAllTargets) {
  return {mnemonic, &ExecVector, {Ty::kF16, Ty::kF16, Ty::kF16}, &HalfLanes<2, F, FDirected>,
          flags,    targets};
}
template <auto F, auto FDirected = F>
constexpr Row Half3(std::string_view mnemonic, uint32_t flags = 0, uint32_t targets = kAllTargets) {
  return {
      mnemonic, &ExecVector, {Ty::kF16, Ty::kF16, Ty::kF16, Ty::kF16}, &HalfLanes<3, F, FDirected>,
      flags,    targets};
}

}  // namespace rochound::softgpu
