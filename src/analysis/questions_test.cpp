// SPDX-License-Identifier: MIT
//
// Each question that is SQL, on a trace small enough to work the answer out by hand.
#include "analysis/questions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/statistics.h"
#include "analysis/test_trace.h"
#include "base/files.h"
#include "store/export_rpd.h"

namespace rochound::analysis {
namespace {

std::string Cell(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) {
    char text[32];
    snprintf(text, sizeof text, "%.6g", *real);
    return text;
  }
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return "-";
}

using Lines = std::vector<std::string>;

// A table as lines of cells, its columns first.
Lines Rows(const Answer& answer, const std::string& id) {
  for (const Table& table : answer.tables) {
    if (table.id != id) continue;
    Lines lines(1);
    for (const Column& column : table.columns)
      lines[0] += (lines[0].empty() ? "" : " ") + column.name;
    for (const auto& row : table.rows) {
      std::string line;
      for (const Value& value : row) line += (line.empty() ? "" : " ") + Cell(value);
      lines.push_back(line);
    }
    return lines;
  }
  return {"no table " + id};
}

Answer Asked(store::TraceDatabase& trace, const std::string& name) {
  const Question* question = FindQuestion(name);
  EXPECT_NE(question, nullptr) << name;
  auto answer = Ask(trace, *question, {.limit = 0});
  EXPECT_TRUE(answer.ok()) << answer.error().message;
  return answer.ok() ? std::move(answer).value() : Answer{};
}

Answer Asked(const TestTrace& trace, const std::string& name) {
  store::TraceDatabase database = trace.Open();
  return Asked(database, name);
}

TEST(QuestionsTest, TopAddsUpEqualOperationsAndTellsShapesApart) {
  TestTrace trace;
  const int64_t launch = trace.Call({.start = 0, .end = 5});
  // Alike in everything, at the same time: RPD's own view counts these once.
  trace.Kernel({.queue = 1, .start = 10, .end = 40, .name = "Add", .call = launch});
  trace.Kernel({.queue = 1, .start = 10, .end = 40, .name = "Add", .call = launch});
  trace.Kernel(
      {.queue = 1, .start = 50, .end = 60, .name = "Add", .call = launch, .grid = {128, 2, 1}});
  trace.Copy({.queue = 2, .start = 0, .end = 30, .call = launch, .bytes = 10});
  const Answer answer = Asked(trace, "top");
  EXPECT_EQ(Rows(answer, "kernels"),
            (Lines{"kernel calls total_ns mean_ns min_ns max_ns share_percent",
                   "Add 3 70 23 10 30 70", "CopyHostToDevice 1 30 30 30 30 30"}));
  EXPECT_EQ(Rows(answer, "shapes"),
            (Lines{"kernel grid workgroup lds_bytes calls total_ns mean_ns share_percent",
                   "Add 64x1x1 64x1x1 0 2 60 30 85.7143", "Add 128x2x1 64x1x1 0 1 10 10 14.2857"}));
}

TEST(QuestionsTest, ApisSeparateCallsFromRangesAndOverhead) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 30, .name = "hipMalloc", .category = "memory"});
  trace.Call({.start = 30, .end = 40, .name = "hipMalloc", .category = "memory"});
  trace.Call({.start = 40, .end = 50, .name = "hipFree", .category = "memory"});
  trace.Call(
      {.start = 0, .end = 99, .name = "drain", .domain = "rochound", .category = "overhead"});
  trace.Range(0, 45, "step 1");
  trace.Range(45, 50, "step 1");
  const Answer answer = Asked(trace, "apis");
  EXPECT_EQ(
      Rows(answer, "calls"),
      (Lines{"call domain category calls total_ns mean_ns min_ns max_ns share_percent",
             "hipMalloc hip memory 2 40 20 10 30 80", "hipFree hip memory 1 10 10 10 10 20"}));
  EXPECT_EQ(Rows(answer, "ranges"),
            (Lines{"range calls total_ns mean_ns min_ns max_ns", "step 1 2 50 25 5 45"}));
}

TEST(QuestionsTest, CopiesHaveTheBandwidthOfThoseWithATime) {
  TestTrace trace;
  const int64_t call = trace.Call({.start = 0, .end = 1000, .name = "hipMemcpy", .stream = "0x0"});
  trace.Copy({.start = 100, .end = 200, .call = call, .bytes = 1000});
  trace.Copy({.start = 300, .end = 600, .call = call, .bytes = 1048});
  trace.Copy({.start = 700, .end = 700, .call = call, .bytes = 5000, .timed = false});
  trace.Copy({.start = 800, .end = 900, .type = "CopyDeviceToHost", .call = call, .bytes = 3});
  const Answer answer = Asked(trace, "copies");
  // 2048 bytes in 400 ns.
  EXPECT_EQ(
      Rows(answer, "directions"),
      (Lines{"direction copies moved_bytes total_ns bandwidth_bytes_per_s min_bytes max_bytes",
             "CopyHostToDevice 3 7048 400 5.12e+09 1000 5000",
             "CopyDeviceToHost 1 3 100 3e+07 3 3"}));
  EXPECT_EQ(
      Rows(answer, "sizes"),
      (Lines{"direction up_to_bytes copies moved_bytes total_ns bandwidth_bytes_per_s",
             "CopyDeviceToHost 4 1 3 100 3e+07", "CopyHostToDevice 1024 1 1000 100 1e+10",
             "CopyHostToDevice 2048 1 1048 300 3.49333e+09", "CopyHostToDevice 8192 1 5000 0 -"}));
}

TEST(QuestionsTest, BusyCountsOverlapOnce) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 200, .name = "hipDeviceSynchronize"});
  trace.Kernel({.gpu = 0, .queue = 1, .start = 10, .end = 50});
  trace.Kernel({.gpu = 0, .queue = 1, .start = 20, .end = 30});   // inside
  trace.Kernel({.gpu = 0, .queue = 1, .start = 40, .end = 60});   // reaches out by ten
  trace.Kernel({.gpu = 0, .queue = 2, .start = 55, .end = 100});  // overlaps by five
  trace.Kernel({.gpu = 1, .queue = 1, .start = 0, .end = 20});
  const Answer answer = Asked(trace, "busy");
  EXPECT_EQ(Rows(answer, "gpus"), (Lines{"gpu operations busy_ns work_ns wall_ns busy_percent",
                                         "0 4 90 115 200 45", "1 1 20 20 200 10"}));
  EXPECT_EQ(Rows(answer, "queues"),
            (Lines{"gpu queue operations busy_ns work_ns wall_ns busy_percent",
                   "0 1 3 50 70 200 25", "0 2 1 45 45 200 22.5", "1 1 1 20 20 200 10"}));
}

TEST(QuestionsTest, QueuesKnowTheirDepth) {
  TestTrace trace;
  // Submitted at 0, 10 and 20; done at 40, 60 and 80. Then nothing until one more, 160 to 200.
  trace.Kernel({.queue = 1, .start = 30, .end = 40, .submit = 0});
  trace.Kernel({.queue = 1, .start = 40, .end = 60, .submit = 10});
  trace.Kernel({.queue = 1, .start = 60, .end = 80, .submit = 20});
  trace.Kernel({.queue = 1, .start = 170, .end = 200, .submit = 160});
  const Answer answer = Asked(trace, "queues");
  // 1x10 + 2x10 + 3x20 + 2x20 + 1x20 + 1x40 = 190 of 200 ns; empty from 80 to 160.
  EXPECT_EQ(Rows(answer, "queues"),
            (Lines{"gpu queue max_depth mean_depth empty_ns empty_percent single_ns single_percent",
                   "0 1 3 0.95 80 40 70 35"}));
  const Lines over_time = Rows(answer, "over_time");
  ASSERT_EQ(over_time.size(), 201U);  // a bucket is a nanosecond here
  EXPECT_EQ(over_time[1 + 20], "0 1 20 3");
  EXPECT_EQ(over_time[1 + 39], "0 1 39 3");
  EXPECT_EQ(over_time[1 + 40], "0 1 40 2");
  EXPECT_EQ(over_time[1 + 100], "0 1 100 0");
}

TEST(QuestionsTest, LaunchIsCallWaitAndKernel) {
  TestTrace trace;
  const int64_t one = trace.Call({.start = 0, .end = 20});
  const int64_t two = trace.Call({.start = 20, .end = 50});
  trace.Kernel({.start = 25, .end = 30, .name = "Add", .call = one, .submit = 15});
  trace.Kernel({.start = 60, .end = 110, .name = "Add", .call = two, .submit = 40});
  trace.Kernel({.start = 60, .end = 60, .name = "Lost", .call = two, .submit = 60, .timed = false});
  const Answer answer = Asked(trace, "launch");
  EXPECT_EQ(Rows(answer, "kernels"),
            (Lines{"kernel launches call_mean_ns wait_mean_ns wait_median_ns wait_95_ns "
                   "kernel_mean_ns shorter_than_call_percent",
                   "Add 2 25 15 15 20 27 50"}));
  EXPECT_EQ(Rows(answer, "slowest"),
            (Lines{"kernel call op_id call_ns wait_ns kernel_ns", "Add hipLaunchKernel 2 30 20 50",
                   "Add hipLaunchKernel 1 20 10 5"}));
}

TEST(QuestionsTest, StragglersAreThoseWhoStartLast) {
  TestTrace trace;
  const std::string reduce = "ncclDevKernel_AllReduce_Sum_f32(ncclDevKernelArgs)";
  // GPU 1 is late by 30 and by 10, GPU 0 once by 5.
  const int64_t starts[3][2] = {{100, 130}, {200, 210}, {305, 300}};
  for (const auto& meeting : starts)
    for (int gpu = 0; gpu < 2; ++gpu)
      trace.Kernel({.gpu = gpu, .start = meeting[gpu], .end = meeting[gpu] + 40, .name = reduce});
  trace.Kernel({.gpu = 0, .start = 0, .end = 1000, .name = "Compute"});
  trace.Range(0, 100, "step 1");
  trace.Call({.pid = 2,
              .start = 0,
              .end = 150,
              .name = "UserMarker",
              .args = "step 1",
              .domain = "roctx"});
  const Answer answer = Asked(trace, "stragglers");
  EXPECT_EQ(Rows(answer, "ranks"),
            (Lines{"rank collectives times_last last_percent waited_ns caused_wait_ns",
                   "1 3 2 66.6667 5 40", "0 3 1 33.3333 40 5"}));
  EXPECT_EQ(Rows(answer, "collectives"),
            (Lines{"name meetings ranks mean_spread_ns max_spread_ns late_rank_at_max",
                   reduce + " 3 2 15 30 1"}));
  EXPECT_EQ(Rows(answer, "steps"),
            (Lines{"step turn processes fastest_ns slowest_ns slowest_pid spread_percent",
                   "step 1 1 2 100 150 2 33.3333"}));
}

TEST(QuestionsTest, VariabilityComparesAKernelWithItself) {
  TestTrace trace;
  trace.Range(0, 1000, "step 1");
  trace.Range(1000, 3000, "step 2");
  trace.Range(1200, 1300, "not one of them");
  const int64_t early = trace.Call({.start = 10, .end = 20});
  const int64_t late = trace.Call({.start = 1010, .end = 1020});
  trace.Kernel({.gpu = 0, .start = 100, .end = 200, .name = "Add", .call = early});
  trace.Kernel({.gpu = 0, .start = 1100, .end = 1400, .name = "Add", .call = late});
  trace.Kernel({.gpu = 1, .start = 1100, .end = 1500, .name = "Mul", .call = late});
  trace.Kernel({.gpu = 0, .start = 1500, .end = 1700, .name = "Mul", .call = late});
  trace.Kernel(
      {.gpu = 0, .start = 1700, .end = 1999, .name = "Mul", .call = late, .grid = {1, 1, 1}});
  const Answer answer = Asked(trace, "variability");
  EXPECT_EQ(Rows(answer, "kernels"),
            (Lines{"kernel grid calls mean_ns min_ns median_ns at_95_ns max_ns variation_percent "
                   "above_fastest_ns",
                   "Add 64x1x1 2 200 100 200 300 300 50 200",
                   "Mul 64x1x1 2 300 200 300 400 400 33.3333 200"}));
  EXPECT_EQ(
      Rows(answer, "ranks"),
      (Lines{"kernel ranks fastest_rank_mean_ns slowest_rank_mean_ns slowest_rank spread_percent",
             "Mul 2 200 400 1 100"}));
  EXPECT_EQ(Rows(answer, "steps"),
            (Lines{"step pid turn wall_ns kernels gpu_ns against_mean_percent",
                   "step 1 1 1 1000 1 100 -33.3333", "step 2 1 2 2000 4 1199 33.3333"}));
}

TEST(QuestionsTest, HealthTellsEveryLossAndEveryDoubt) {
  TestTrace trace;
  trace.lost.push_back({"records dropped", 12, "the disk was full"});
  trace.lost.push_back({"records dropped", 8, "the disk was full"});
  const int64_t launch = trace.Call({.start = 0, .end = 100});
  trace.Call({.start = 90, .end = 80, .name = "hipFree"});
  trace.Kernel({.start = 50, .end = 60, .call = launch, .submit = 70});  // before it was submitted
  trace.Kernel({.start = 100, .end = 100, .call = launch, .timed = false});
  trace.Kernel({.start = 60, .end = 61});
  trace.Call({.start = 900, .end = 1000, .name = "hipDeviceSynchronize"});
  const Answer answer = Asked(trace, "health");
  EXPECT_EQ(answer.doubts, (Lines{"missing: records dropped (20): the disk was full"}));
  EXPECT_EQ(Rows(answer, "lost").size(), 3U);
  EXPECT_EQ(
      Rows(answer, "checks"),
      (Lines{"check found", "calls that end before they start 1",
             "kernels that belong to no call 1",
             "kernels that start before they were submitted (clocks disagree) 1",
             "kernels without a GPU time 1", "copies without a GPU time 0",
             "operations that end before they start 0", "processes that did not end in order 0"}));
  EXPECT_EQ(Rows(answer, "cpu_only"),
            (Lines{"pid since_start_ns length_ns share_percent", "1 100 900 90", "1 0 50 5"}));
}

TEST(QuestionsTest, DoubtsStandBeforeEveryAnswer) {
  TestTrace trace;
  trace.lost.push_back({"kernel times", 1, "shown at the time they were submitted at"});
  store::TraceDatabase database = trace.Open();
  for (const Question& question : Questions()) {
    if (std::string(question.name) == "diff") continue;
    const auto answer = Ask(database, question, {});
    ASSERT_TRUE(answer.ok()) << question.name << ": " << answer.error().message;
    EXPECT_EQ(answer.value().doubts.size(), 1U) << question.name;
  }
}

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

TEST_F(DiffTest, TellsChangesFromChance) {
  TestTrace before, after;
  for (int i = 0; i < 20; ++i) {
    const int64_t at = i * 10000;
    before.Kernel({.start = at, .end = at + 100 + i % 3, .name = "Slower"});
    after.Kernel({.start = at, .end = at + 200 + i % 3, .name = "Slower"});
    before.Kernel({.start = at, .end = at + 500 + i % 7 * 10, .name = "Same"});
    after.Kernel({.start = at, .end = at + 502 + i % 7 * 10, .name = "Same"});
  }
  before.Kernel({.start = 0, .end = 7, .name = "Gone"});
  after.Kernel({.start = 0, .end = 9, .name = "New"});
  auto trace = store::TraceDatabase::Open({Write(before, "a.rpd"), Write(after, "b.rpd")});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const Lines lines = Rows(Asked(trace.value(), "diff"), "kernels");
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0],
            "kernel calls_before calls_after mean_before_ns mean_after_ns change_percent "
            "total_change_ns p verdict");
  EXPECT_TRUE(lines[1].starts_with("Slower 20 20 100.95 200.95 99.0589 2000 ")) << lines[1];
  EXPECT_TRUE(lines[1].ends_with(" slower")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with("Same 20 20 528.5 530.5 0.378")) << lines[2];
  EXPECT_TRUE(lines[2].ends_with(" same")) << lines[2];
  EXPECT_EQ(lines[3], "New 0 1 - 9 - 9 - new");
  EXPECT_EQ(lines[4], "Gone 1 0 7 - - -7 - gone");
}

TEST_F(DiffTest, ComparesCallStacksOfNumberedRanges) {
  TestTrace before, after;
  for (int i = 0; i < 10; ++i) {
    const int64_t at = i * 1000;
    const std::string step = "step " + std::to_string(i);
    before.Range(at, at + 500, step);
    before.Call({.start = at + 100, .end = at + 150 + i % 2, .name = "hipMemcpy2D"});
    after.Range(at, at + 500, step);
    after.Call({.start = at + 100, .end = at + 250 + i % 2, .name = "hipMemcpy2D"});
  }
  after.Call({.start = 20000, .end = 20001, .name = "hipFree"});
  auto trace = store::TraceDatabase::Open({Write(before, "a.rpd"), Write(after, "b.rpd")});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const Lines lines = Rows(Asked(trace.value(), "diff"), "stacks");
  ASSERT_EQ(lines.size(), 4U);
  // The copies take 100 more of each step, which the steps themselves take less.
  EXPECT_TRUE(lines[1].starts_with("step # 10 10 449.5 349.5 -22.2469 -1000 ")) << lines[1];
  EXPECT_TRUE(lines[1].ends_with(" faster")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with("step # > hipMemcpy2D 10 10 50.5 150.5 198.02 1000 "))
      << lines[2];
  EXPECT_TRUE(lines[2].ends_with(" slower")) << lines[2];
  EXPECT_EQ(lines[3], "hipFree 0 1 - 1 - 1 - new");
}

TEST_F(DiffTest, NeedsTwoTraces) {
  auto trace = store::TraceDatabase::Open({Write(TestTrace(), "one.rpd")});
  ASSERT_TRUE(trace.ok());
  const auto answer = Ask(trace.value(), *FindQuestion("diff"), {});
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().message.find("two traces"), std::string::npos);
}

TEST(StatisticsTest, StudentAgreesWithTables) {
  // From printed tables: the two-sided 5% points.
  EXPECT_NEAR(StudentTwoSided(12.7062, 1), 0.05, 1e-5);
  EXPECT_NEAR(StudentTwoSided(2.22814, 10), 0.05, 1e-5);
  EXPECT_NEAR(StudentTwoSided(1.98397, 100), 0.05, 1e-5);
  EXPECT_NEAR(StudentTwoSided(1.95996, 1e9), 0.05, 1e-5);
  EXPECT_DOUBLE_EQ(StudentTwoSided(0, 5), 1);
}

TEST(StatisticsTest, WelchSaysNothingOfTooLittle) {
  EXPECT_DOUBLE_EQ(WelchP({1, 5, 0}, {10, 9, 1}), 1);
  EXPECT_DOUBLE_EQ(WelchP({10, 5, 0}, {10, 5, 0}), 1);
  EXPECT_DOUBLE_EQ(WelchP({10, 5, 0}, {10, 6, 0}), 0);
}

TEST(StatisticsTest, HolmIsNeverBelowItsOwn) {
  const std::vector<double> adjusted = HolmAdjusted({0.01, 0.04, 0.03});
  EXPECT_NEAR(adjusted[0], 0.03, 1e-12);
  EXPECT_NEAR(adjusted[2], 0.06, 1e-12);
  EXPECT_NEAR(adjusted[1], 0.06, 1e-12);
}

}  // namespace
}  // namespace rochound::analysis
