// SPDX-License-Identifier: MIT
#include "profile/bottleneck.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/files.h"

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
  const auto kernels = FindBottlenecks(set, {}, {}, Rules());
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

}  // namespace
}  // namespace rochound::profile
