// SPDX-License-Identifier: MIT
#include "profile/roofline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "profile/measured_peaks.h"
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

// A hash is no memory-bound kernel because it has no floating point.
TEST(RooflineTest, IntegersDecideWhereTheyTakeLonger) {
  Launch launch = Counted(0, 10, 20);  // 3.2 s to 25.6 s of memory
  launch.exact["operations.vector.i32.arithmetic"] = 1500;
  EXPECT_EQ(Only(launch, SmallPeaks()).verdict, Verdict::kMemory) << "3 s, mostly addresses";
  launch.exact["operations.vector.i32.arithmetic"] = 1700;
  EXPECT_EQ(Only(launch, SmallPeaks()).verdict, Verdict::kDependsOnCaches);
  launch.exact["operations.vector.i32.arithmetic"] = 20000;
  const KernelRoofline hash = Only(launch, SmallPeaks());
  EXPECT_EQ(hash.verdict, Verdict::kCompute);
  for (const std::string& reason : hash.reasons)
    EXPECT_EQ(reason.find("no arithmetic"), std::string::npos) << reason;
  EXPECT_NE(hash.reasons.back().find("integer operations take at least 4e+07 us"),
            std::string::npos)
      << hash.reasons.back();
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
      {{"mi325x", "gfx942", 304, 2100, 1465, 8192, "", ""},
       {{"vector.f32", 163.4}, {"matrix.f16", 1307.4}, {"matrix.fp8", 2614.9}},
       6000},
      {{"mi355x", "gfx950", 256, 2400, 2000, 8192, "", ""},
       {{"vector.f64", 78.6},
        {"vector.f32", 157.3},
        {"matrix.f16", 2516},
        {"matrix.fp8", 5033},
        {"matrix.f6f4", 10066}},
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
  const auto cdna4 = LoadArchitecture(ROCHOUND_ARCHITECTURES, "gfx950");
  ASSERT_TRUE(cdna4.ok());
  device.clock_mhz = 2400;
  EXPECT_NEAR(PeaksOf(device, cdna4.value()).cache_bytes.at("l2").per_second, 39.3e12, 0.1e12);
  EXPECT_FALSE(PeaksOf(device, cdna4.value()).cache_bytes.contains("mall"));
  // The cache of RDNA's memory has a clock of its own.
  const auto rdna = LoadArchitecture(ROCHOUND_ARCHITECTURES, "gfx1100");
  ASSERT_TRUE(rdna.ok());
  EXPECT_EQ(PeaksOf(device, rdna.value()).cache_bytes.at("mall").per_second, 5.3e12);
  EXPECT_EQ(PeaksOf(device, rdna.value()).cache_bytes.size(), 1u);
  EXPECT_FALSE(PeaksOf(device, rdna.value()).cache_bytes.at("mall").source.empty());
}

// 1000 operations of f32, 4000 of matrix.f16 and 100 bytes of memory per second; 300 of L2.
Launch Measured(double nanoseconds) {
  Launch launch;
  launch.kernel = "f";
  launch.grid = {64, 1, 1};
  launch.workgroup = {64, 1, 1};
  launch.nanoseconds = nanoseconds;
  launch.exact = {{"ADD", 2}, {"MOPS", 1}, {"READ", 3}, {"WRITTEN", 2}, {"REQ", 4}};
  return launch;
}

const std::vector<Metric> kMeasuredMetrics = {
    {"a", "", "64 * ADD", "", "", "vector.f32"}, {"b", "", "512 * MOPS", "", "", "matrix.f16"},
    {"c", "", "32 * READ", "", "", "memory"},    {"d", "", "64 * WRITTEN", "", "", "memory"},
    {"e", "", "128 * REQ", "", "", "l2"},        {"f", "", "100 * READ", "", "", ""}};

std::vector<KernelRoofline> MeasuredRooflines(const std::vector<Launch>& launches,
                                              const std::vector<Metric>& metrics) {
  Peaks peaks = SmallPeaks();
  peaks.operations["matrix.f16"] = {4000, "a test"};
  CounterSet set;
  set.launches = launches;
  auto kernels = MakeMeasuredRooflines(set, peaks, metrics);
  EXPECT_TRUE(kernels.ok());
  return std::move(kernels).value();
}

TEST(RooflineTest, CountersOfAGpuGiveTheBytesThatWereMoved) {
  const auto kernels = MeasuredRooflines({Measured(3e9), Measured(5e9)}, kMeasuredMetrics);
  ASSERT_EQ(kernels.size(), 1u);
  const KernelRoofline& kernel = kernels[0];
  EXPECT_EQ(kernel.launches, 2u);
  EXPECT_EQ(kernel.operations,
            (std::map<std::string, double>{{"vector.f32", 256}, {"matrix.f16", 1024}}));
  const MeasuredTraffic traffic = kernel.measured.value_or(MeasuredTraffic{});
  EXPECT_EQ(traffic.memory_bytes, 2 * (96 + 128));
  EXPECT_EQ(traffic.l2_bytes, 1024);
  EXPECT_DOUBLE_EQ(traffic.seconds.value_or(0), 8);
  EXPECT_DOUBLE_EQ(kernel.compute_seconds.value_or(0), 0.256 + 0.256);
  EXPECT_DOUBLE_EQ(kernel.memory_seconds_least.value_or(0), 4.48);
  EXPECT_EQ(kernel.verdict, Verdict::kMemory);
  EXPECT_DOUBLE_EQ(kernel.MostIntensity().value_or(0), 1280.0 / 448);
  const auto file = nlohmann::json::parse(RooflineJson({}, {}, SmallPeaks(), kernels));
  EXPECT_DOUBLE_EQ(file["kernels"][0]["measured"]["of_memory_peak"], 0.56);
  EXPECT_DOUBLE_EQ(file["kernels"][0]["measured"]["of_compute_peak"], 0.064);
  EXPECT_TRUE(file["kernels"][0]["bytes"].is_null());
  // Ten times the operations of the wide unit take longer than the bytes.
  Launch launch = Measured(3e9);
  launch.exact["MOPS"] = 100;
  EXPECT_EQ(MeasuredRooflines({launch}, kMeasuredMetrics)[0].verdict, Verdict::kCompute);
}

TEST(RooflineTest, CountersThatAreMissingMakeTheVerdictUnknown) {
  Launch launch = Measured(3e9);
  launch.exact.erase("MOPS");
  const auto without = MeasuredRooflines({Measured(3e9), launch}, kMeasuredMetrics)[0];
  EXPECT_EQ(without.verdict, Verdict::kUnknown);
  EXPECT_FALSE(without.MostIntensity().has_value());
  EXPECT_FALSE(without.operations.contains("matrix.f16")) << "one of two launches is no sum";
  EXPECT_NE(without.reasons[0].find("missing: MOPS"), std::string::npos) << without.reasons[0];
  launch = Measured(3e9);
  launch.exact.erase("WRITTEN");
  const auto unwritten = MeasuredRooflines({launch}, kMeasuredMetrics)[0];
  EXPECT_EQ(unwritten.verdict, Verdict::kUnknown);
  EXPECT_FALSE(unwritten.measured.value_or(MeasuredTraffic{}).memory_bytes.has_value());
  // A GPU without counters of operations.
  const auto rdna = MeasuredRooflines({Measured(3e9)}, {kMeasuredMetrics[2], kMeasuredMetrics[3]});
  EXPECT_EQ(rdna[0].verdict, Verdict::kUnknown);
  EXPECT_DOUBLE_EQ(rdna[0].memory_seconds_least.value_or(0), 2.24);
  EXPECT_NE(rdna[0].reasons[0].find("no counters"), std::string::npos) << rdna[0].reasons[0];
  // Without times everything but the shares is known.
  launch = Measured(3e9);
  launch.nanoseconds.reset();
  const auto timeless = MeasuredRooflines({launch}, kMeasuredMetrics)[0];
  EXPECT_EQ(timeless.verdict, Verdict::kMemory);
  EXPECT_FALSE(timeless.measured.value_or(MeasuredTraffic{}).seconds.has_value());
}

TEST(RooflineTest, MoreThanThePeakIsDoubted) {
  for (const double nanoseconds : {1e9, 3e9}) {
    const auto kernel = MeasuredRooflines({Measured(nanoseconds)}, kMeasuredMetrics)[0];
    const bool doubted =
        std::any_of(kernel.reasons.begin(), kernel.reasons.end(), [](const std::string& reason) {
          return reason.find("more than can be") != std::string::npos;
        });
    EXPECT_EQ(doubted, nanoseconds < 2e9);
  }
}

MeasuredPeaks FewPeaks() {
  MeasuredPeaks measured;
  measured.device = "A card";
  measured.target = "gfx942";
  measured.compute_units = 304;
  measured.operations["vector.f32"] = {1600, 2};
  measured.operations["vector.f16"] = {900, 1};
  measured.bytes["memory"] = {160, 2};
  measured.bytes["lds"] = {5000, 1};
  return measured;
}

TEST(MeasuredPeaksTest, TakeThePlaceOfTheTables) {
  Device device{"mi300x", "gfx942", 304};
  Peaks peaks = SmallPeaks();
  std::vector<std::string> warnings;
  ASSERT_TRUE(UseMeasuredPeaks(FewPeaks(), device, &peaks, &warnings).ok());
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(peaks.operations.at("vector.f32").per_second, 800);
  EXPECT_EQ(peaks.operations.at("vector.f32").from_table, 1000);
  EXPECT_TRUE(peaks.operations.at("vector.f32").measured);
  EXPECT_EQ(peaks.operations.at("vector.f16").per_second, 900);
  EXPECT_FALSE(peaks.operations.at("vector.f16").from_table.has_value());
  EXPECT_EQ(peaks.memory_bytes.value_or(Peak{}).per_second, 80);
  EXPECT_EQ(peaks.cache_bytes.at("lds").per_second, 5000);
  // 10 lines of 32 bytes take 4 s now, and 3300 operations 4.125.
  const KernelRoofline kernel = Only(Counted(3300, 10, 20), peaks);
  EXPECT_DOUBLE_EQ(kernel.memory_seconds_least.value_or(0), 4);
  EXPECT_DOUBLE_EQ(kernel.compute_seconds.value_or(0), 4.125);
  const auto file = nlohmann::json::parse(RooflineJson({}, device, peaks, {kernel}));
  EXPECT_EQ(file["peaks"]["memory"]["measured"], true);
  EXPECT_EQ(file["peaks"]["memory"]["from_table"], 100);
  device.compute_units = 256;
  ASSERT_TRUE(UseMeasuredPeaks(FewPeaks(), device, &peaks, &warnings).ok());
  EXPECT_EQ(warnings.size(), 1u) << "it is another card";
}

TEST(MeasuredPeaksTest, OfASoftwareGpuOrAnotherTargetAreNotUsed) {
  const Device device{"mi300x", "gfx942", 304};
  Peaks peaks = SmallPeaks();
  std::vector<std::string> warnings;
  MeasuredPeaks measured = FewPeaks();
  measured.software_gpu = true;
  ASSERT_TRUE(UseMeasuredPeaks(measured, device, &peaks, &warnings).ok());
  EXPECT_EQ(peaks.operations.at("vector.f32").per_second, 1000);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("speed of its host"), std::string::npos) << warnings[0];
  measured = FewPeaks();
  measured.target = "gfx90a";
  EXPECT_FALSE(UseMeasuredPeaks(measured, device, &peaks, &warnings).ok());
}

TEST(MeasuredPeaksTest, AreReadAsTheyWereWritten) {
  const auto folder = base::TempDir::Create(testing::TempDir(), "peaks");
  ASSERT_TRUE(folder.ok());
  const auto file = folder.value().path() / "peaks.json";
  ASSERT_TRUE(base::WriteFile(file, MeasuredPeaksJson(FewPeaks())).ok());
  const auto again = LoadMeasuredPeaks(file);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(MeasuredPeaksJson(again.value()), MeasuredPeaksJson(FewPeaks()));
  for (const char* wrong :
       {"", "[]", "{}", R"({"format":"rochound peaks","version":2})",
        R"({"format":"rochound peaks","version":1,"device":"d","target":"gfx942",
            "compute_units":1,"software_gpu":false,"measurements":[]})",
        R"({"format":"rochound peaks","version":1,"device":"d","target":"gfx942",
            "compute_units":1,"software_gpu":false,
            "measurements":[{"name":"lds","kind":"bytes","count":1,"seconds":0}]})"}) {
    ASSERT_TRUE(base::WriteFile(file, wrong).ok());
    EXPECT_FALSE(LoadMeasuredPeaks(file).ok()) << wrong;
  }
}

}  // namespace
}  // namespace rochound::profile
