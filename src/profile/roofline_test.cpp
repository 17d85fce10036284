// SPDX-License-Identifier: MIT
#include "profile/roofline.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profile/profile_files.h"

namespace rochound::profile {
namespace {

Launch Counted(double operations, double distinct_lines, double asked_lines) {
  Launch launch;
  launch.kernel = "_Z1fPf";
  launch.grid = {64, 1, 1};
  launch.workgroup = {64, 1, 1};
  for (const char* space : {"global", "scratch", "scalar"}) {
    for (const char* action : {"read_bytes", "written_bytes", "atomic_bytes", "lines_read",
                               "lines_written", "lines_atomic"})
      launch.exact[std::string("memory.") + space + "." + action] = 0;
  }
  launch.exact["memory.line_bytes"] = 128;
  launch.exact["memory.scalar_line_bytes"] = 64;
  launch.exact["memory.global.lines_read"] = asked_lines;
  launch.exact["memory.global.read_bytes"] = 128 * asked_lines;
  launch.exact["footprint.all.lines_32.read"] = distinct_lines;
  launch.exact["footprint.all.lines_32.written"] = 0;
  launch.exact["operations.vector.f32.arithmetic"] = operations;
  launch.exact["operations.vector.f32.multiply_add"] = operations;
  launch.exact["operations.vector.i32.arithmetic"] = 1000;
  return launch;
}

// 1000 operations and 100 bytes per second.
Peaks SmallPeaks() {
  Peaks peaks;
  peaks.operations["vector.f32"] = {1000, "a test"};
  peaks.memory_bytes = Peak{100, "a test"};
  return peaks;
}

KernelRoofline Only(const Launch& launch, const Peaks& peaks) {
  CounterSet set;
  set.launches = {launch};
  const auto kernels = MakeRooflines(set, peaks);
  EXPECT_EQ(kernels.size(), 1u);
  return kernels[0];
}

TEST(RooflineTest, VerdictsFollowFromTheBounds) {
  // 10 distinct lines of 32 bytes take 3.2 s; 20 lines of 128 bytes 25.6 s.
  EXPECT_EQ(Only(Counted(3000, 10, 20), SmallPeaks()).verdict, Verdict::kMemory);
  EXPECT_EQ(Only(Counted(3300, 10, 20), SmallPeaks()).verdict, Verdict::kDependsOnCaches);
  EXPECT_EQ(Only(Counted(25500, 10, 20), SmallPeaks()).verdict, Verdict::kDependsOnCaches);
  EXPECT_EQ(Only(Counted(25600, 10, 20), SmallPeaks()).verdict, Verdict::kCompute);
  const KernelRoofline kernel = Only(Counted(3000, 10, 20), SmallPeaks());
  EXPECT_DOUBLE_EQ(kernel.compute_seconds.value_or(0), 3.0);
  EXPECT_DOUBLE_EQ(kernel.memory_seconds_least.value_or(0), 3.2);
  EXPECT_DOUBLE_EQ(kernel.memory_seconds_most.value_or(0), 25.6);
  EXPECT_DOUBLE_EQ(kernel.LeastSeconds(), 3.2);
  EXPECT_EQ(kernel.other_integers, 1000);
  EXPECT_EQ(kernel.operations.size(), 1u) << "kinds are not counted again beside their sum";
}

TEST(RooflineTest, WhatIsMissingMakesTheVerdictUnknown) {
  Launch launch = Counted(3000, 10, 20);
  Peaks peaks = SmallPeaks();
  peaks.operations.clear();
  EXPECT_EQ(Only(launch, peaks).verdict, Verdict::kUnknown);
  EXPECT_FALSE(Only(launch, peaks).compute_seconds.has_value());
  peaks = SmallPeaks();
  peaks.memory_bytes.reset();
  EXPECT_EQ(Only(launch, peaks).verdict, Verdict::kUnknown);
  launch.exact.erase("footprint.all.lines_32.written");
  EXPECT_EQ(Only(launch, SmallPeaks()).verdict, Verdict::kUnknown);
  EXPECT_FALSE(Only(launch, SmallPeaks()).bytes.has_value());
}

TEST(RooflineTest, LaunchesOfOneShapeAreAddedUp) {
  CounterSet set;
  set.launches = {Counted(100, 1, 1), Counted(200, 2, 2), Counted(50000, 1, 1)};
  set.launches[2].grid[0] = 128;
  const auto kernels = MakeRooflines(set, SmallPeaks());
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].grid[0], 128u) << "the longest is the first";
  EXPECT_EQ(kernels[1].launches, 2u);
  EXPECT_EQ(kernels[1].Operations(), 300);
  EXPECT_EQ(kernels[1].bytes.value_or(Bytes{}).compulsory, 96);
}

struct Product {
  Device device;
  std::vector<std::pair<const char*, double>> operations;  // 1e12 per second
  double memory;                                           // 1e9 bytes per second
};

TEST(RooflineTest, PeaksAreThoseOfTheProductPages) {
  const Product products[] = {
      // One of the card's two GPUs.
      {{"mi250x", "gfx90a", 110, 1700, 1600, 4096, "", ""},
       {{"vector.f64", 23.95}, {"matrix.f64", 47.85}, {"matrix.f16", 191.5}, {"matrix.i8", 191.5}},
       1638},
      {{"mi300x", "gfx942", 304, 2100, 1300, 8192, "", ""},
       {{"vector.f64", 81.7},
        {"vector.f32", 163.4},
        {"matrix.f64", 163.4},
        {"matrix.xf32", 653.7},
        {"matrix.f16", 1307.4},
        {"matrix.fp8", 2614.9}},
       5325},
      {{"mi355x", "gfx950", 256, 2400, 2000, 8192, "", ""},
       {{"vector.f64", 78.6}, {"vector.f32", 157.3}, {"matrix.f16", 2516}, {"matrix.fp8", 5033}},
       8192},
      {{"rx6800xt", "gfx1030", 72, 2250, 1000, 256, "", ""},
       {{"vector.f32", 20.74}, {"vector.f16", 41.47}, {"vector.f64", 1.296}},
       512},
      {{"rx7900xtx", "gfx1100", 96, 2500, 1249, 384, "", ""},
       {{"vector.f32", 61.4}, {"matrix.f16", 122.8}},
       960},
      {{"rx9070xt", "gfx1201", 64, 2970, 1258, 256, "", ""},
       {{"vector.f32", 48.7}, {"matrix.f16", 195}, {"matrix.fp8", 389}, {"matrix.i4", 779}},
       644},
  };
  for (const Product& product : products) {
    const auto architecture = LoadArchitecture(ROCHOUND_ARCHITECTURES, product.device.target);
    ASSERT_TRUE(architecture.ok()) << architecture.error().message;
    const Peaks peaks = PeaksOf(product.device, architecture.value());
    for (const auto& [type, expected] : product.operations) {
      EXPECT_NEAR(peaks.operations.at(type).per_second, expected * 1e12, expected * 2e9)
          << product.device.name << " " << type;
    }
    EXPECT_NEAR(peaks.memory_bytes.value_or(Peak{}).per_second, product.memory * 1e9,
                product.memory * 1e6);
    EXPECT_TRUE(PeaksOf(Device{}, architecture.value()).operations.empty());
    EXPECT_FALSE(PeaksOf(Device{}, architecture.value()).memory_bytes.has_value());
  }
}

TEST(RooflineTest, FilesSayWhatIsMissing) {
  CounterSet set;
  set.source = "a test";
  set.launches = {Counted(3000, 10, 20)};
  set.launches[0].exact["TCC_HIT"] = 3;
  set.launches[0].exact["TCC_MISS"] = 1;
  const auto architecture = LoadArchitecture(ROCHOUND_ARCHITECTURES, "gfx942");
  ASSERT_TRUE(architecture.ok());
  const auto text = ProfileJson(set, &architecture.value());
  ASSERT_TRUE(text.ok());
  const auto profile = nlohmann::json::parse(text.value());
  const auto& metrics = profile["launches"][0]["metrics"];
  EXPECT_EQ(metrics["l2_hits"]["value"], 75);
  EXPECT_TRUE(metrics["memory_written_bytes"]["value"].is_null());
  EXPECT_EQ(metrics["memory_written_bytes"]["missing"].size(), 2u);
  EXPECT_TRUE(profile["launches"][0]["nanoseconds"].is_null());
  EXPECT_EQ(profile["launches"][0]["name"], "f(float*)");
  const auto page = MetricsPage(set, architecture.value());
  ASSERT_TRUE(page.ok());
  EXPECT_NE(page.value().find("missing: TCC_EA0_WRREQ_64B_sum, TCC_EA0_WRREQ_sum"),
            std::string::npos)
      << page.value();
}

TEST(RooflineTest, CachesHaveRoofsWhereOneIsPublished) {
  const auto architecture = LoadArchitecture(ROCHOUND_ARCHITECTURES, "gfx942");
  ASSERT_TRUE(architecture.ok());
  Device device;
  device.clock_mhz = 2100;
  device.dies = 8;
  const Peaks peaks = PeaksOf(device, architecture.value());
  // 17.2 TB/s of the Infinity Cache on AMD's page.
  EXPECT_NEAR(peaks.cache_bytes.at("mall").per_second, 17.2e12, 0.01e12);
  EXPECT_NEAR(peaks.cache_bytes.at("l2").per_second, 34.4e12, 0.01e12);
  const auto rdna = LoadArchitecture(ROCHOUND_ARCHITECTURES, "gfx1100");
  ASSERT_TRUE(rdna.ok());
  EXPECT_TRUE(PeaksOf(device, rdna.value()).cache_bytes.empty());
}

}  // namespace
}  // namespace rochound::profile
