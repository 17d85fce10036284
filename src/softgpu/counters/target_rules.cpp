// SPDX-License-Identifier: MIT
#include "softgpu/counters/target_rules.h"

namespace rochound::softgpu {
namespace {

// Multiplications are in the order of MatrixKind: f64, f32, xf32, f16, 8 bits, 4 bits.
constexpr TargetRules kCdna2 = {.bit = kGfx90a,
                                .line_bytes = 64,
                                .scalar_line_bytes = 64,
                                .lds_grouping = LdsGrouping::kCdna,
                                .vgprs_wave32 = 512,
                                .vgprs_wave64 = 512,
                                .vgpr_unit_wave32 = 8,
                                .vgpr_unit_wave64 = 8,
                                .vgpr_field_wave32 = 8,
                                .vgpr_field_wave64 = 8,
                                .simd_lanes = 16,
                                .issue_interval = 4,
                                .double_factor = 1,
                                .wide_integer_factor = 4,
                                .transcendental_factor = 4,
                                .transcendental_double_factor = 8,
                                .multiplications_per_cycle = {32, 32, 0, 128, 128, 0},
                                .scalar_latency = 64,
                                .lds_latency = 64,
                                .memory_latency = 500,
                                .branch_cycles = 16,
                                .scalar_unit_per_simd = false};

constexpr TargetRules Cdna3() {
  TargetRules rules = kCdna2;
  rules.bit = kGfx942;
  rules.line_bytes = 128;
  rules.multiplications_per_cycle = {32, 32, 128, 256, 512, 0};
  return rules;
}

constexpr TargetRules Cdna4() {
  TargetRules rules = Cdna3();
  rules.bit = kGfx950;
  rules.lds_grouping = LdsGrouping::kCdna4;
  rules.multiplications_per_cycle = {16, 32, 0, 512, 1024, 0};
  return rules;
}

constexpr TargetRules kRdna2 = {.bit = kGfx1030,
                                .line_bytes = 128,
                                .scalar_line_bytes = 64,
                                .lds_grouping = LdsGrouping::kConsecutive,
                                .vgprs_wave32 = 1024,
                                .vgprs_wave64 = 512,
                                .vgpr_unit_wave32 = 16,
                                .vgpr_unit_wave64 = 8,
                                .vgpr_field_wave32 = 8,
                                .vgpr_field_wave64 = 4,
                                .simd_lanes = 32,
                                .issue_interval = 1,
                                .double_factor = 16,
                                .wide_integer_factor = 4,
                                .transcendental_factor = 4,
                                .transcendental_double_factor = 16,
                                .multiplications_per_cycle = {0, 0, 0, 0, 0, 0},
                                .scalar_latency = 50,
                                .lds_latency = 32,
                                .memory_latency = 250,
                                .branch_cycles = 8,
                                .scalar_unit_per_simd = true};

constexpr TargetRules Rdna3() {
  TargetRules rules = kRdna2;
  rules.bit = kGfx1100;
  rules.vgprs_wave32 = 1536;
  rules.vgprs_wave64 = 768;
  rules.vgpr_unit_wave32 = 24;
  rules.vgpr_unit_wave64 = 12;
  rules.multiplications_per_cycle = {0, 0, 0, 128, 128, 256};
  return rules;
}

constexpr TargetRules Rdna4() {
  TargetRules rules = Rdna3();
  rules.bit = kGfx1201;
  rules.multiplications_per_cycle = {0, 0, 0, 256, 512, 1024};
  return rules;
}

constexpr TargetRules kRules[] = {kCdna2, Cdna3(), Cdna4(), kRdna2, Rdna3(), Rdna4()};

}  // namespace

const TargetRules& RulesFor(const Architecture& architecture) {
  for (const TargetRules& rules : kRules) {
    if (rules.bit == architecture.bit) return rules;
  }
  return kRules[0];  // target_rules_test.cpp asks for every target there is
}

}  // namespace rochound::softgpu
