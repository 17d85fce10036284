// SPDX-License-Identifier: MIT
#include "profile/instruction_mix.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "profile/roofline.h"

namespace rochound::profile {
namespace {

std::string Text(std::string_view instruction) {
  std::string text;
  for (const InstructionWork& work : WorkOf(instruction))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", work.type,
                        work.of_wave > 0 ? fmt::format("{} of the wave", work.of_wave)
                                         : fmt::format("{}", work.of_lane));
  return text;
}

TEST(InstructionMixTest, WorkByName) {
  const std::pair<const char*, const char*> samples[] = {
      {"v_add_f32_e32 v1, v2, v3", "vector.f32 1"},
      {"v_fmac_f32_e32 v1, v2, v3", "vector.f32 2"},
      {"v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]", "vector.f64 2"},
      {"v_pk_fma_f16 v1, v2, v3, v4", "vector.f16 4"},
      {"v_fma_mixlo_f16 v1, v2, v3, v4", "vector.f32 2"},
      {"v_dual_fmac_f32 v1, v2, v3 :: v_dual_mul_f32 v4, v5, v6", "vector.f32 2, vector.f32 1"},
      {"v_dual_mov_b32 v1, 0 :: v_dual_add_f32 v4, v5, v6", "vector.f32 1"},
      {"v_exp_f32_e32 v1, v1", "vector.f32 1"},
      {"v_dot2_f32_f16 v1, v2, v3, v4", "vector.f16 4"},
      {"v_dot4_i32_iu8 v1, v2, v3, v4", "vector.i8 8"},
      {"v_dot8_u32_u4 v1, v2, v3, v4", "vector.i4 16"},
      {"v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]",
       "matrix.bf16 8192 of the wave"},
      {"v_wmma_i32_16x16x16_iu8 v[0:7], v[8:11], v[12:15], v[0:7]", "matrix.i8 8192 of the wave"},
      {"v_swmmac_f32_16x16x32_f16 v[0:7], v[8:11], v[12:19], v20", "matrix.f16 8192 of the wave"},
      {"s_fmac_f32 s1, s2, s3", "scalar.f32 2 of the wave"},
      {"v_s_rcp_f32 s1, s2", "scalar.f32 1 of the wave"},
      // Addresses, comparisons, conversions, moves, memory.
      {"v_add_nc_u32_e32 v1, v2, v3", ""},
      {"v_mad_u64_u32 v[0:1], s0, v2, v3, v[4:5]", ""},
      {"v_cmp_lt_f32_e32 vcc_lo, v1, v2", ""},
      {"v_max_f32_e32 v1, v2, v3", ""},
      {"v_cvt_f32_i32_e32 v1, v2", ""},
      {"v_mov_b32_e32 v1, v2", ""},
      {"s_add_u32 s1, s2, s3", ""},
      {"global_load_b32 v1, v2, s[0:1]", ""},
      {"", ""},
  };
  for (const auto& [instruction, work] : samples) EXPECT_EQ(Text(instruction), work) << instruction;
}

ThreadTrace Trace(uint64_t waves, uint64_t adds, const char* mask) {
  ThreadTrace trace;
  trace.functions = {{"_Z1fPf.kd", "f(float*)"}};
  const auto add = [&](uint64_t address, const std::string& text, uint64_t hits) {
    TracedInstruction& one = trace.instructions.emplace_back();
    one.address = address;
    one.text = text;
    one.hits = hits;
  };
  add(16, "v_add_f32_e32 v1, v1, v2", adds);
  add(0, "s_load_b64 s[0:1], s[4:5], null", waves);  // the first one, wherever it stands
  add(8, std::string("v_cmp_gt_u32_e32 ") + mask + ", s0, v0", waves);
  return trace;
}

TEST(InstructionMixTest, IsWhatAWaveDoesOnAverage) {
  ThreadTraces traces;
  traces.traces = {Trace(4, 40, "vcc_lo"), Trace(4, 8, "vcc_lo")};
  const auto mixes = MixesOf(traces);
  ASSERT_EQ(mixes.size(), 1u);
  EXPECT_EQ(mixes[0].waves, 8u);
  EXPECT_EQ(mixes[0].wave_size, 32u);
  EXPECT_EQ(mixes[0].per_wave, (std::map<std::string, double>{{"vector.f32", 6 * 32}}));
  traces.traces = {Trace(4, 40, "vcc")};
  EXPECT_EQ(MixesOf(traces)[0].wave_size, 64u);
  EXPECT_NE(FindMix(mixes, "_Z1fPf"), nullptr);
  EXPECT_NE(FindMix(mixes, "f(float*)"), nullptr);
  EXPECT_EQ(FindMix(mixes, "g"), nullptr);
  traces.traces = {Trace(0, 0, "vcc_lo")};
  EXPECT_TRUE(MixesOf(traces).empty());
}

TEST(InstructionMixTest, WavesOfALaunch) {
  EXPECT_EQ(WavesOf({1024, 1, 1}, {256, 1, 1}, 32), 32);
  EXPECT_EQ(WavesOf({1000, 1, 1}, {256, 1, 1}, 64), 16);
  EXPECT_EQ(WavesOf({64, 48, 1}, {16, 16, 1}, 32), 96);
  EXPECT_EQ(WavesOf({10, 0, 0}, {0, 0, 0}, 32), 10);
}

// Without counters of operations, the mix times the waves of all launches stands in, and says so.
TEST(InstructionMixTest, StandsInWhereAGpuHasNoCounters) {
  Launch launch;
  launch.kernel = "_Z1fPf";
  launch.grid = {1024, 1, 1};
  launch.workgroup = {256, 1, 1};
  launch.nanoseconds = 1e9;
  launch.exact = {{"READ", 3}};
  CounterSet set;
  set.launches = {launch, launch};
  Peaks peaks;
  peaks.operations["vector.f32"] = {1000, "a test"};
  peaks.memory_bytes = Peak{100, "a test"};
  const std::vector<Metric> metrics = {{"c", "", "32 * READ", "", "", "memory"}};
  const auto without = MakeMeasuredRooflines(set, peaks, metrics).value();
  EXPECT_FALSE(without[0].operations_known);
  EXPECT_EQ(without[0].verdict, Verdict::kUnknown);

  ThreadTraces traces;
  traces.traces = {Trace(4, 40, "vcc_lo")};
  const auto with = MakeMeasuredRooflines(set, peaks, metrics, MixesOf(traces)).value();
  EXPECT_TRUE(with[0].operations_known);
  EXPECT_EQ(with[0].operations, (std::map<std::string, double>{{"vector.f32", 2 * 32 * 10 * 32}}));
  EXPECT_EQ(with[0].verdict, Verdict::kCompute);
  ASSERT_FALSE(with[0].reasons.empty());
  EXPECT_NE(with[0].reasons[0].find("of 4 traced waves"), std::string::npos) << with[0].reasons[0];
  // Where counters have them, they count.
  std::vector<Metric> counted = metrics;
  counted.push_back({"a", "", "64 * READ", "", "", "vector.f32"});
  EXPECT_EQ(MakeMeasuredRooflines(set, peaks, counted, MixesOf(traces)).value()[0].operations,
            (std::map<std::string, double>{{"vector.f32", 384}}));
  // Another kernel's is not this one's.
  set.launches = {launch};
  set.launches[0].kernel = "g";
  EXPECT_FALSE(
      MakeMeasuredRooflines(set, peaks, metrics, MixesOf(traces)).value()[0].operations_known);
}

}  // namespace
}  // namespace rochound::profile
