// SPDX-License-Identifier: MIT
#include "profile/bottleneck.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/files.h"
#include "profile/bottleneck_file.h"
#include "profile/counter_plan.h"

namespace rochound::profile {
namespace {

BottleneckRules Rules() {
  auto rules = LoadBottleneckRules(ROCHOUND_BOTTLENECK_RULES);
  EXPECT_TRUE(rules.ok()) << rules.error().message;
  return rules.ok() ? rules.value() : BottleneckRules();
}

// A kernel that takes a millisecond, on 10 compute units of 4 SIMDs at 1 GHz with 1 GB/s: each
// waits for nothing in particular.
Values Even() {
  return {{"footprint.all.lines_32.read", 0},
          {"footprint.all.lines_32.written", 0},
          {"model.busy.memory", 0},
          {"model.busy.simd", 0},
          {"model.busy.lds", 0},
          {"model.compute_units_used", 10},
          {"model.waves_per_simd", 8},
          {"model.wave_cycles", 320e6},
          {"model.longest_wave", 0},
          {"workgroups", 80},
          {"waves", 320},
          {"exec_splits", 0},
          {"lanes.active", 64},
          {"lanes.possible", 64},
          {"lds.instructions", 0},
          {"instructions.by_class.global_load", 0},
          {"instructions.by_class.flat_load", 0},
          {"instructions.by_class.buffer_load", 0},
          {"instructions.by_class.scratch_load", 0},
          {"instructions.by_class.smem", 0},
          {"device.compute_units", 10},
          {"device.hertz", 1e9},
          {"device.simds_per_unit", 4},
          {"device.waves_per_simd", 8},
          {"device.bytes_per_second", 1e9}};
}

std::string With(const Values& others) {
  Values values = Even();
  for (const auto& [name, value] : others) values[name] = value;
  return Judge(Rules(), values).primary;
}

// Two rules of one limit: what changes the first does not change the verdict.
TEST(BottleneckTest, WhatWouldChangeItIsAnotherVerdict) {
  Values values = Even();
  values["model.compute_units_used"] = 4;
  values["workgroups"] = 4;
  values["lanes.active"] = 32;
  const Bottleneck verdict = Judge(Rules(), values);
  EXPECT_EQ(verdict.primary, "under-occupied");
  ASSERT_FALSE(verdict.changes.empty());
  EXPECT_NE(verdict.changes.back().find("it would still be under-occupied"), std::string::npos)
      << verdict.changes.back();
}

TEST(BottleneckTest, TheRooflineDisagreesWithItsReason) {
  KernelRoofline memory, compute, depends;
  memory.verdict = Verdict::kMemory;
  compute.verdict = Verdict::kCompute;
  depends.verdict = Verdict::kDependsOnCaches;
  for (const char* limit : {"memory bandwidth", "memory latency"}) {
    EXPECT_EQ(Disagreement(limit, memory), "");
    EXPECT_NE(Disagreement(limit, compute).find("asks for more, or waits"), std::string::npos);
  }
  for (const char* limit : {"compute throughput", "divergence"}) {
    EXPECT_EQ(Disagreement(limit, compute), "");
    EXPECT_NE(Disagreement(limit, memory).find("slow instructions"), std::string::npos);
  }
  EXPECT_NE(Disagreement("LDS", memory).find("not LDS"), std::string::npos);
  EXPECT_EQ(Disagreement("LDS", depends), "");
  EXPECT_EQ(Disagreement("unknown", memory), "");
}

TEST(BottleneckTest, EachRuleDecides) {
  EXPECT_EQ(With({}), "unknown");
  EXPECT_EQ(With({{"instructions.by_class.global_load", 320}}), "memory latency");
  EXPECT_EQ(With({{"lds.instructions", 3200}}), "LDS");
  EXPECT_EQ(With({{"model.waves_per_simd", 2}}), "under-occupied");
  EXPECT_EQ(With({{"model.busy.simd", 320e6}}), "compute throughput");
  EXPECT_EQ(With({{"model.busy.simd", 320e6}, {"lanes.active", 16}, {"exec_splits", 320}}),
            "divergence");
  EXPECT_EQ(With({{"model.busy.simd", 320e6}, {"lanes.active", 16}}), "under-occupied");
  EXPECT_EQ(With({{"model.busy.lds", 100e6}}), "LDS");
  EXPECT_EQ(With({{"model.busy.memory", 100e6}}), "memory bandwidth");
  EXPECT_EQ(With({{"footprint.all.lines_32.read", 1e6}}), "memory bandwidth");
  EXPECT_EQ(With({{"workgroups", 11}}), "tail");
  EXPECT_EQ(With({{"model.longest_wave", 10e6}}), "tail");
  EXPECT_EQ(With({{"model.compute_units_used", 2}, {"workgroups", 2}}), "under-occupied");
  EXPECT_EQ(With({{"model.wave_cycles", 320e3}}), "launch-bound");
}

TEST(BottleneckTest, EveryRuleIsReachedAndSaysWhy) {
  for (const BottleneckRules::Rule& rule : Rules().rules) {
    EXPECT_FALSE(rule.when.empty());
    EXPECT_FALSE(rule.evidence.empty());
    EXPECT_FALSE(rule.change.empty());
  }
  Values values = Even();
  values["footprint.all.lines_32.read"] = 1e6;
  const Bottleneck verdict = Judge(Rules(), values);
  ASSERT_EQ(verdict.primary, "memory bandwidth");
  ASSERT_EQ(verdict.reasoning.size(), 1U);
  EXPECT_TRUE(verdict.reasoning[0].starts_with("memory_share is 1, at least 0.9"));
  ASSERT_GE(verdict.evidence.size(), 2U);
  EXPECT_EQ(verdict.evidence[1].name, "traffic_seconds");
  EXPECT_DOUBLE_EQ(verdict.evidence[1].value, 32e6 / 1e9);
  EXPECT_FALSE(verdict.evidence[1].modelled);
  EXPECT_TRUE(verdict.evidence[0].modelled);
  ASSERT_EQ(verdict.changes.size(), 2U);
  EXPECT_EQ(verdict.changes[1], "memory_share below 0.9, where it is 1 now: then no rule holds");
}

TEST(BottleneckTest, ConfidenceGrowsWithTheDistanceFromTheLimit) {
  Values values = Even();
  values["model.longest_wave"] = 2e6;
  // The work takes a millisecond.
  values["model.wave_cycles"] = 320e6;
  const auto confidence = [&](double longest) {
    values["model.longest_wave"] = longest;
    return Judge(Rules(), values).confidence;
  };
  EXPECT_NEAR(confidence(2e6), 0.5, 0.01);
  EXPECT_GT(confidence(2.4e6), confidence(2e6));
  EXPECT_EQ(confidence(100e6), 0.75) << "all compute units are twice as many as are needed";
  values["model.wave_cycles"] = 320;
  EXPECT_EQ(confidence(0), 0.8) << "a model decided";
}

TEST(BottleneckTest, WhatIsMissingIsNamed) {
  Values values = Even();
  values.erase("device.hertz");
  const Bottleneck verdict = Judge(Rules(), values);
  EXPECT_EQ(verdict.primary, "unknown");
  EXPECT_EQ(verdict.confidence, 0);
  EXPECT_EQ(verdict.reasoning[0], "missing: device.hertz");
}

TEST(BottleneckTest, LaunchesOfOneShapeAreOneKernel) {
  CounterSet set;
  for (const double waves : {1.0, 3.0}) {
    Launch launch;
    launch.kernel = "f";
    launch.exact["waves"] = waves;
    set.launches.push_back(launch);
  }
  set.launches.emplace_back().kernel = "g";
  const auto kernels = FindBottlenecks(set, {}, {}, {}, Rules()).value();
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].launches, 2U);
  EXPECT_EQ(kernels[1].kernel, "g");
  EXPECT_EQ(kernels[1].bottleneck.primary, "unknown");
  EXPECT_NE(kernels[1].bottleneck.reasoning.size(), 1U) << "what is missing is named";
}

TEST(BottleneckTest, WrongRulesAreRefused) {
  const auto folder = base::TempDir::Create("/tmp", "rochound-rules-");
  ASSERT_TRUE(folder.ok());
  const auto load = [&](const std::string& text) {
    const std::filesystem::path file = folder.value().path() / "rules.json";
    std::ofstream(file) << text;
    return LoadBottleneckRules(file).ok();
  };
  const std::string value = R"({"name": "a", "formula": "waves", "about": ""})";
  const auto file = [](const std::string& values, const std::string& rules) {
    return R"({"values": [)" + values + R"(], "rules": [)" + rules + "]}";
  };
  EXPECT_TRUE(load(file(value, "")));
  EXPECT_FALSE(load("{"));
  EXPECT_FALSE(load("{}"));
  EXPECT_FALSE(load(file(R"({"name": "a", "formula": "1 +", "about": ""})", "")));
  EXPECT_FALSE(load(file(R"({"name": "a", "formula": "later", "about": ""})", "")));
  EXPECT_FALSE(load(file(value, R"({"class": "x", "when": [{"value": "b", "at_least": 1}],
                                    "evidence": [], "change": ""})")));
}

// A launch on a GPU with 10 compute units of 4 SIMDs and 1 TB/s that can be reached, which takes a millisecond and is
// limited by nothing in particular: 2 million cycles, in which each unit is busy.
Launch EvenOnGpu() {
  Launch launch;
  launch.kernel = "f";
  launch.grid = {64 * 80, 1, 1};
  launch.workgroup = {64, 1, 1};
  launch.nanoseconds = 1e6;
  launch.exact = {{"SQ_BUSY_CU_CYCLES", 20e6},
                  {"SQ_WAVE_CYCLES", 80e6},
                  {"SQ_WAIT_ANY", 8e6},
                  {"SQ_WAVES", 80},
                  {"SQ_INSTS_VMEM_RD", 800},
                  {"SQ_ACTIVE_INST_VALU", 4e6},
                  {"SQ_THREAD_CYCLES_VALU", 4e6 * 64},
                  {"SQ_VALU_MFMA_BUSY_CYCLES", 0},
                  {"SQ_LDS_IDX_ACTIVE", 2e6},
                  {"TCC_BUBBLE_sum", 0},
                  {"TCC_EA0_RDREQ_sum", 1e6},
                  {"TCC_EA0_RDREQ_32B_sum", 0},
                  {"TCC_EA0_WRREQ_sum", 1e6},
                  {"TCC_EA0_WRREQ_64B_sum", 1e6}};
  return launch;
}

Bottleneck OnGpu(const Values& others, double nanoseconds = 1e6, uint64_t items = 64 * 80,
                 const char* left_out = "") {
  CounterSet set;
  set.launches.push_back(EvenOnGpu());
  for (const auto& [name, value] : others) set.launches[0].exact[name] = value;
  set.launches[0].exact.erase(left_out);
  set.launches[0].nanoseconds = nanoseconds;
  set.launches[0].grid[0] = items;
  Device device;
  device.compute_units = 10;
  device.simds_per_unit = 4;
  device.waves_per_simd = 8;
  Peaks peaks;
  peaks.memory_bytes = Peak{1.25e12, "a test"};
  peaks.memory_bytes->reachable = 0.8;
  const auto rules = LoadBottleneckRules(ROCHOUND_COUNTER_RULES);
  EXPECT_TRUE(rules.ok()) << rules.error().message;
  const auto architecture = LoadArchitecture(ROCHOUND_ARCHITECTURES, "gfx942");
  EXPECT_TRUE(architecture.ok());
  const auto found =
      FindBottlenecks(set, device, peaks, architecture.value().metrics, rules.value());
  EXPECT_TRUE(found.ok());
  return found.value().at(0).bottleneck;
}

TEST(BottleneckTest, EachRuleOverHardwareCountersDecides) {
  EXPECT_EQ(OnGpu({}).primary, "unknown");
  EXPECT_EQ(OnGpu({}).reasoning, std::vector<std::string>{"no rule holds"});
  EXPECT_EQ(OnGpu({}, 1500).primary, "launch-bound");
  EXPECT_EQ(OnGpu({}, 1e6, 64 * 4).primary, "under-occupied");
  EXPECT_EQ(OnGpu({{"TCC_EA0_RDREQ_sum", 10e6}}).primary, "memory bandwidth");
  EXPECT_EQ(OnGpu({{"TCC_EA0_RDREQ_sum", 10e6}}, 2e6).primary, "unknown");
  EXPECT_EQ(OnGpu({{"SQ_LDS_IDX_ACTIVE", 13e6}}).primary, "LDS");
  EXPECT_EQ(OnGpu({{"SQ_ACTIVE_INST_VALU", 13e6}, {"SQ_THREAD_CYCLES_VALU", 13e6 * 60}}).primary,
            "compute throughput");
  EXPECT_EQ(OnGpu({{"SQ_ACTIVE_INST_VALU", 13e6}, {"SQ_THREAD_CYCLES_VALU", 13e6 * 20}}).primary,
            "divergence");
  EXPECT_EQ(OnGpu({{"SQ_VALU_MFMA_BUSY_CYCLES", 52e6}}).primary, "compute throughput");
  EXPECT_EQ(OnGpu({{"SQ_WAIT_ANY", 60e6}}).primary, "memory latency");
  EXPECT_EQ(OnGpu({{"SQ_WAIT_ANY", 60e6}, {"SQ_INSTS_VMEM_RD", 8}}).primary, "unknown");
  EXPECT_EQ(OnGpu({{"SQ_WAIT_ANY", 20e6}, {"SQ_WAVE_CYCLES", 30e6}}).primary, "under-occupied");
}

// SQ_BUSY_CU_CYCLES counts cycles, SQ_WAVE_CYCLES quad-cycles: figures as GPUs have counted them.
TEST(BottleneckTest, CyclesAreThoseOfSilicon) {
  // A GEMM whose LDS is active in 89% of the cycles.
  const Bottleneck gemm = OnGpu({{"SQ_LDS_IDX_ACTIVE", 17.8e6}});
  EXPECT_EQ(gemm.primary, "LDS");
  EXPECT_NEAR(gemm.evidence.at(0).value, 0.89, 1e-9);
  // A copy with 6.9 of 8 waves on each SIMD, which wait for memory.
  const Bottleneck copy = OnGpu({{"SQ_BUSY_CU_CYCLES", 2706223},
                                 {"SQ_WAVE_CYCLES", 18674882},
                                 {"SQ_WAIT_ANY", 17567758},
                                 {"SQ_ACTIVE_INST_VALU", 163840},
                                 {"SQ_THREAD_CYCLES_VALU", 163840 * 64},
                                 {"SQ_LDS_IDX_ACTIVE", 0}});
  EXPECT_EQ(copy.primary, "memory latency");
}

TEST(BottleneckTest, VerdictsOfAGpuSayWhatTheyAreMadeOf) {
  const Bottleneck memory = OnGpu({{"TCC_EA0_RDREQ_sum", 14e6}});
  // 64 * 15 million bytes in a millisecond, of a terabyte in a second: nothing is modelled.
  EXPECT_NEAR(memory.confidence, 1 - 0.5 / (0.96 / 0.7), 1e-9);
  ASSERT_FALSE(memory.evidence.empty());
  EXPECT_EQ(memory.evidence[0].name, "memory_share");
  EXPECT_NEAR(memory.evidence[0].value, 0.96, 1e-9);
  EXPECT_FALSE(memory.evidence[0].modelled);
  // What is missing is named, and whatever it may decide is not decided without it.
  const Bottleneck lacking = OnGpu({{"SQ_WAIT_ANY", 60e6}}, 1e6, 64 * 80, "SQ_LDS_IDX_ACTIVE");
  EXPECT_EQ(lacking.primary, "unknown");
  EXPECT_EQ(lacking.reasoning[0], "missing: SQ_LDS_IDX_ACTIVE");
  // But what is before it is.
  EXPECT_EQ(OnGpu({{"TCC_EA0_RDREQ_sum", 14e6}}, 1e6, 64 * 80, "SQ_LDS_IDX_ACTIVE").primary,
            "memory bandwidth");
}

TEST(BottleneckTest, CountersAreCollectedInPassesThatBlocksCanCount) {
  const auto rules = LoadBottleneckRules(ROCHOUND_COUNTER_RULES);
  ASSERT_TRUE(rules.ok());
  for (const char* target : {"gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"}) {
    const auto architecture = LoadArchitecture(ROCHOUND_ARCHITECTURES, target);
    ASSERT_TRUE(architecture.ok());
    const std::set<std::string> wanted = WantedCounters(rules.value(), architecture.value());
    EXPECT_FALSE(wanted.empty()) << target;
    std::set<std::string> planned;
    for (const auto& pass : PlanPasses(wanted, architecture.value())) {
      std::map<std::string, size_t> used;
      for (const std::string& name : pass) {
        const std::string block = name.substr(0, name.find('_'));
        EXPECT_LE(++used[block], architecture.value().counters_at_once.at(block)) << name;
        EXPECT_TRUE(planned.insert(name).second) << name << " is collected twice";
      }
    }
    EXPECT_EQ(planned, wanted) << target;
  }
  const auto architecture = LoadArchitecture(ROCHOUND_ARCHITECTURES, "gfx942");
  const auto wanted = WantedCounters(rules.value(), architecture.value());
  for (const char* name : {"SQ_WAIT_ANY", "TCC_BUBBLE_sum", "SQ_INSTS_VALU_FMA_F64"})
    EXPECT_TRUE(wanted.contains(name)) << name;
  // Eight of SQ at once, in one pass.
  EXPECT_EQ(PlanPasses({"SQ_1", "SQ_2", "SQ_3", "SQ_4", "SQ_5", "SQ_6", "SQ_7", "SQ_8", "TCC_1"},
                       architecture.value())
                .size(),
            1U);
  EXPECT_EQ(PlanPasses({"TCC_1", "TCC_2", "TCC_3", "TCC_4", "TCC_5"}, architecture.value()).size(),
            2U);
}

}  // namespace
}  // namespace rochound::profile
