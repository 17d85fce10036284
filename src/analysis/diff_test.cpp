// SPDX-License-Identifier: MIT
//
// Runs compared with each other: who is called slower, and who is not.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "analysis/questions.h"
#include "analysis/statistics.h"
#include "analysis/test_rows.h"
#include "analysis/test_trace.h"
#include "base/files.h"
#include "store/export/export_rpd.h"

namespace rochound::analysis {
namespace {

class DiffTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = base::TempDir::Create(testing::TempDir(), "diff-");
    ASSERT_TRUE(made.ok());
    folder_ = std::make_unique<base::TempDir>(std::move(made).value());
  }
  std::filesystem::path Write(const TestTrace& trace, const std::string& name) {
    store::TraceDatabase database = trace.Open();
    const std::filesystem::path path = folder_->path() / name;
    const auto done = store::ExportRpd(database, path);
    EXPECT_TRUE(done.ok()) << done.error().message;
    return path;
  }
  std::unique_ptr<base::TempDir> folder_;
};

// A run whose kernels take `times`, each a little different at every call, and all of them scaled
// by how the run itself went.
TestTrace RunOf(const std::map<std::string, double>& times, double run, std::mt19937& random) {
  std::normal_distribution<double> call(1, 0.05);
  TestTrace trace;
  int64_t at = 0;
  for (int i = 0; i < 30; ++i) {
    for (const auto& [name, ns] : times) {
      const auto length = std::max<int64_t>(1, std::llround(ns * run * call(random)));
      trace.Kernel({.start = at, .end = at + length, .name = name});
      at += length + 1000;
    }
  }
  return trace;
}

// The verdict on each kernel.
std::map<std::string, std::string> Verdicts(const Answer& answer) {
  std::map<std::string, std::string> verdicts;
  for (const Table& table : answer.tables)
    if (table.id == "kernels")
      for (const auto& row : table.rows)
        verdicts[std::get<std::string>(row.front())] = std::get<std::string>(row.back());
  return verdicts;
}

class DiffRunsTest : public DiffTest {
 protected:
  // Runs of two binaries, each run as fast as chance makes it: some percent more or less.
  Answer Compare(const std::map<std::string, double>& before,
                 const std::map<std::string, double>& after, size_t runs, double run_to_run,
                 std::mt19937& random) {
    std::normal_distribution<double> run(1, run_to_run);
    std::vector<std::filesystem::path> paths;
    for (const auto* times : {&before, &after}) {
      for (size_t i = 0; i < runs; ++i) {
        const std::string name = std::to_string(paths.size()) + ".rpd";
        std::filesystem::remove(folder_->path() / name);
        paths.push_back(Write(RunOf(*times, run(random), random), name));
      }
    }
    auto trace = store::TraceDatabase::Open(
        paths, {.limits = {.memory_bytes = uint64_t{1} << 30, .threads = 1, .spill_directory = {}},
                .views = false});
    EXPECT_TRUE(trace.ok()) << trace.error().message;
    auto answer = Ask(trace.value(), *FindQuestion("diff"), {.limit = 0, .before_count = runs});
    EXPECT_TRUE(answer.ok()) << answer.error().message;
    return answer.ok() ? std::move(answer).value() : Answer{};
  }

  const std::map<std::string, double> times_ = {
      {"Add", 20000}, {"Gemm", 900000}, {"Norm", 55000}, {"Softmax", 130000}};
};

TEST_F(DiffRunsTest, TheSameBinaryIsNotCalledSlower) {
  std::mt19937 random(1);
  for (const auto& [name, verdict] : Verdicts(Compare(times_, times_, 3, 0.04, random)))
    EXPECT_TRUE(verdict == "unclear" || verdict == "same") << name << " " << verdict;
}

TEST_F(DiffRunsTest, TwentyPercentAreFoundAndNobodyElseIsAccused) {
  std::mt19937 random(2);
  std::map<std::string, double> after = times_;
  after["Norm"] *= 1.2;
  for (const auto& [name, verdict] : Verdicts(Compare(times_, after, 5, 0.02, random)))
    EXPECT_EQ(verdict == "slower" || verdict == "faster", name == "Norm") << name << " " << verdict;
}

TEST_F(DiffRunsTest, OneRunOfASideTellsNoVerdict) {
  std::mt19937 random(3);
  std::map<std::string, double> after = times_;
  after["Norm"] /= 3.5;
  after.erase("Add");
  after["Fused"] = 1000;
  const Answer answer = Compare(times_, after, 1, 0.04, random);
  EXPECT_EQ(Verdicts(answer), (std::map<std::string, std::string>{{"Add", "gone"},
                                                                  {"Fused", "new"},
                                                                  {"Gemm", "not known"},
                                                                  {"Norm", "not known"},
                                                                  {"Softmax", "not known"}}));
  ASSERT_EQ(answer.notes.size(), 1U);
  EXPECT_NE(answer.notes[0].find("cannot be known"), std::string::npos) << answer.notes[0];
}

TEST_F(DiffTest, FiguresAreOfARun) {
  const auto run = [](int64_t add, int64_t extra) {
    TestTrace trace;
    for (int64_t i = 0; i < 4; ++i) {
      trace.Kernel({.start = i * 1000, .end = i * 1000 + add + i % 2, .name = "Add"});
      trace.Kernel({.start = i * 1000, .end = i * 1000 + 500, .name = "Same"});
    }
    if (extra != 0) trace.Kernel({.start = 0, .end = extra, .name = "New"});
    return trace;
  };
  auto trace = store::TraceDatabase::Open(
      {Write(run(100, 0), "a.rpd"), Write(run(101, 0), "b.rpd"), Write(run(102, 0), "c.rpd"),
       Write(run(200, 9), "d.rpd"), Write(run(201, 9), "e.rpd"), Write(run(202, 9), "f.rpd")});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto answer = Ask(trace.value(), *FindQuestion("diff"), {.limit = 0, .before_count = 3});
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  const Lines lines = Rows(answer.value(), "kernels");
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0],
            "kernel calls_before calls_after mean_before_ns mean_after_ns change_percent "
            "low_percent high_percent fastest_change_percent total_change_ns p verdict");
  // The runs' means are 100.5, 101.5, 102.5 and 100 more: 2.776 * sqrt(1 * 2/3) = 2.27 either way.
  EXPECT_TRUE(lines[1].starts_with("Add 4 4 101.5 201.5 98.5222 96.2887 100.756 99.0099 400 "))
      << lines[1];
  EXPECT_TRUE(lines[1].ends_with(" slower")) << lines[1];
  EXPECT_EQ(lines[2], "New 0 1 - 9 - - - - 9 - new");
  EXPECT_EQ(lines[3], "Same 4 4 500 500 0 0 0 0 0 1 same");
  EXPECT_TRUE(answer.value().notes[0].starts_with(
      "3 runs before, 3 runs after. Slower kernels: Add. Faster: none. Not clear: none."))
      << answer.value().notes[0];
}

TEST_F(DiffTest, ComparesCallStacksOfNumberedRanges) {
  const auto run = [](int64_t copy, bool frees) {
    TestTrace trace;
    for (int i = 0; i < 10; ++i) {
      const int64_t at = i * 1000;
      trace.Range(at, at + 500, "step " + std::to_string(i));
      trace.Call({.start = at + 100, .end = at + 100 + copy + i % 2, .name = "hipMemcpy2D"});
    }
    if (frees) trace.Call({.start = 20000, .end = 20001, .name = "hipFree"});
    return trace;
  };
  auto trace =
      store::TraceDatabase::Open({Write(run(50, false), "a.rpd"), Write(run(51, false), "b.rpd"),
                                  Write(run(150, true), "c.rpd"), Write(run(151, true), "d.rpd")});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto answer = Ask(trace.value(), *FindQuestion("diff"), {.limit = 0, .before_count = 2});
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  const Lines lines = Rows(answer.value(), "stacks");
  ASSERT_EQ(lines.size(), 4U);
  // The copies take 100 more of each step, which the steps themselves take less.
  EXPECT_TRUE(lines[1].starts_with("step # 10 10 449 349 -22.2717 ")) << lines[1];
  EXPECT_TRUE(lines[1].ends_with(" faster")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with("step # > hipMemcpy2D 10 10 51 151 196.078 ")) << lines[2];
  EXPECT_TRUE(lines[2].ends_with(" slower")) << lines[2];
  EXPECT_EQ(lines[3], "hipFree 0 1 - 1 - - - - 1 - new");
}

TEST_F(DiffTest, NeedsTwoSides) {
  const std::filesystem::path one = Write(TestTrace(), "one.rpd");
  for (const size_t count : {size_t{1}, size_t{3}}) {
    auto trace = store::TraceDatabase::Open(std::vector(count, one));
    ASSERT_TRUE(trace.ok());
    const auto answer = Ask(trace.value(), *FindQuestion("diff"), {});
    ASSERT_FALSE(answer.ok());
    EXPECT_NE(answer.error().message.find("--against"), std::string::npos);
  }
}

}  // namespace
}  // namespace rochound::analysis
