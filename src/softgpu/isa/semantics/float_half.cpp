// SPDX-License-Identifier: MIT
//
// VALU f16. Lane functions compute in float; see HalfLanes for why that rounds right.
#include <cmath>

#include "softgpu/isa/semantics/float_lanes.h"
#include "softgpu/isa/semantics/float_parts.h"
#include "softgpu/isa/semantics/float_rows.h"
#include "softgpu/isa/semantics/transcendental.h"

namespace rochound::softgpu {
namespace {

constexpr Ty kF16 = Ty::kF16;

// v_mad and v_mac round the product and the sum, and know no denormals whatever MODE says.
void MadLanes(void* dst, const void* const* src, unsigned lanes) {
  alignas(32) float in[3][kRowLanes];
  alignas(32) uint32_t product[kRowLanes];
  auto* out = static_cast<uint32_t*>(dst);
  for (unsigned n = 0; n < 3; ++n) ReadHalves(src[n], 0, true, in[n], lanes);
  for (unsigned i = 0; i < lanes; ++i) in[0][i] *= in[1][i];
  WriteHalves(in[0], true, product, lanes);
  ReadHalves(product, 0, true, in[0], lanes);
  for (unsigned i = 0; i < lanes; ++i) in[0][i] += in[2][i];
  WriteHalves(in[0], true, out, lanes);
}

constexpr Row Mad(std::string_view mnemonic, uint32_t flags) {
  return {mnemonic, &ExecVector, {kF16, kF16, kF16, kF16}, &MadLanes, flags, kGfx9Targets};
}

// x * 2^n is exact in float for every n that matters.
void ScaleLanes(void* dst, const void* const* src, unsigned lanes) {
  HostMode mode = HostMode::Now();
  alignas(32) float value[kRowLanes];
  ReadHalves(src[0], 0, mode.flush_inputs, value, lanes);
  const auto* scale = static_cast<const uint32_t*>(src[1]);
  for (unsigned i = 0; i < lanes; ++i) {
    int32_t n = static_cast<int16_t>(scale[i]);
    n = n < -64 ? -64 : n > 64 ? 64 : n;
    value[i] *= std::bit_cast<float>(static_cast<uint32_t>(n + 127) << 23);
  }
  WriteHalves(value, mode.flush_results, static_cast<uint32_t*>(dst), lanes);
}

void FrexpExponentLanes(void* dst, const void* const* src, unsigned lanes) {
  alignas(32) float value[kRowLanes];
  ReadHalves(src[0], 0, HostMode::Now().flush_inputs, value, lanes);
  auto* out = static_cast<uint32_t*>(dst);
  for (unsigned i = 0; i < lanes; ++i)
    out[i] = static_cast<uint16_t>(FrexpExponent<float, uint32_t>(value[i]));
}

constexpr Row kRows[] = {
    Half2<[](float a, float b) { return a + b; }>("v_add_f16"),
    Half2<[](float a, float b) { return a - b; }>("v_sub_f16"),
    Half2<[](float a, float b) { return b - a; }>("v_subrev_f16"),
    Half2<[](float a, float b) { return a * b; }>("v_mul_f16"),

    // gfx9 has two of each: with op_sel, leaving the other half alone, and legacy, clearing it.
    Half3<FmaHalfToOdd, FmaFloat>("v_fma_f16", kKeepsHigh16),
    Half3<FmaHalfToOdd, FmaFloat>("v_fma_legacy_f16", 0, kGfx9Targets),
    Half3<FmaHalfToOdd, FmaFloat>("v_fmaak_f16", 0, kRdnaTargets),
    Half3<FmaHalfToOdd, FmaFloat>("v_fmamk_f16", 0, kRdnaTargets),
    {"v_fmac_f16",
     &ExecVector,
     {kF16, kF16, kF16},
     &HalfLanes<3, FmaHalfToOdd, FmaFloat>,
     kAccumulates,
     kRdnaTargets},
    Mad("v_mad_f16", kKeepsHigh16),
    Mad("v_mad_legacy_f16", 0),
    Mad("v_madak_f16", 0),
    Mad("v_madmk_f16", 0),
    {"v_mac_f16", &ExecVector, {kF16, kF16, kF16}, &MadLanes, kAccumulates, kGfx9Targets},

    Half1<[](float x) { return std::floor(x); }>("v_floor_f16"),
    Half1<[](float x) { return std::ceil(x); }>("v_ceil_f16"),
    Half1<[](float x) { return std::trunc(x); }>("v_trunc_f16"),
    Half1<[](float x) { return __builtin_roundevenf(x); }>("v_rndne_f16"),
    Half1<[](float x) { return Fraction(x, 0x1.ffcp-1f); }>("v_fract_f16"),
    {"v_ldexp_f16", &ExecVector, {kF16, kF16, Ty::kI16}, &ScaleLanes},
    Half1<FrexpMantissa<float, uint32_t>>("v_frexp_mant_f16"),
    {"v_frexp_exp_i16_f16", &ExecVector, {Ty::kI16, kF16}, &FrexpExponentLanes},

    Half1<[](float x) { return 1.0f / x; }>("v_rcp_f16"),
    Half1<[](float x) { return std::sqrt(x); }>("v_sqrt_f16"),
    Half1<[](float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }>(
        "v_rsq_f16"),
    Half1<Exp2>("v_exp_f16"),
    Half1<Log2>("v_log_f16"),
    Half1<Sine>("v_sin_f16"),
    Half1<Cosine>("v_cos_f16"),
};

}  // namespace

std::span<const Row> HalfRows() { return kRows; }

}  // namespace rochound::softgpu
