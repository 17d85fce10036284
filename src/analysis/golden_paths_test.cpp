// SPDX-License-Identifier: MIT
//
// The questions that walk through a trace in order, on traces small enough to be checked by hand.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "analysis/autograd.h"
#include "analysis/call_stacks.h"
#include "analysis/critical_path.h"
#include "analysis/extend.h"
#include "analysis/questions.h"
#include "analysis/test_answer.h"
#include "analysis/test_trace.h"
#include "base/files.h"
#include "store/export/export_rpd.h"
#include "store/rpd/database.h"

namespace rochound::analysis {
namespace {

// --- callstack

TestTrace Nested() {
  TestTrace trace;
  trace.Range(0, 100, "step");                                                  // 1
  trace.Range(10, 60, "forward");                                               // 2
  trace.Call({.start = 20, .end = 30, .stream = "0x10"});                       // 3
  trace.Call({.start = 40, .end = 50, .name = "hipMemcpy", .stream = ""});      // 4
  trace.Range(70, 90, "aten::mm, seq = 1, op_id = 2");                          // 5
  trace.Call({.start = 75, .end = 80, .stream = "0x10"});                       // 6
  trace.Call({.start = 5, .end = 95, .name = "UserRange", .domain = "roctx"});  // 7
  trace.Call({.start = 0, .end = 9, .name = "drain", .domain = "rochound"});    // 8
  trace.Kernel({.start = 35, .end = 75, .name = "Add", .call = 3});
  trace.Copy({.queue = 1, .start = 42, .end = 47, .call = 4});
  trace.Kernel({.start = 90, .end = 110, .name = "Gemm", .call = 6});
  return trace;
}

TEST(GoldenCallStack, NamesAndPaths) {
  store::TraceDatabase database = Nested().Open();
  EXPECT_EQ(Ask(database, "callstack", "names"), (Lines{
                                                     "step|1|100|30|65|0",
                                                     "forward|1|50|30|45|0",
                                                     "aten::mm|1|20|15|20|0",
                                                     "hipLaunchKernel|2|15|15|60|60",
                                                     "hipMemcpy|1|10|10|5|5",
                                                 }));
  EXPECT_EQ(Ask(database, "callstack", "paths"),
            (Lines{
                "step|1|100|30|65|0",
                "step > forward|1|50|30|45|0",
                "step > aten::mm|1|20|15|20|0",
                "step > forward > hipLaunchKernel|1|10|10|40|40",
                "step > forward > hipMemcpy|1|10|10|5|5",
                "step > aten::mm > hipLaunchKernel|1|5|5|20|20",
            }));
}

TEST(GoldenCallStack, ANameThatCallsItselfCountsOnce) {
  TestTrace trace;
  trace.Range(0, 100, "again");
  trace.Range(10, 50, "again");
  trace.Range(20, 30, "again");
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "callstack", "names"), (Lines{"again|3|100|100|0|0"}));
}

// --- overlap

TEST(GoldenOverlap, StatesAddUp) {
  TestTrace trace;
  trace.Kernel({.start = 0, .end = 10, .name = "Gemm"});
  trace.Copy({.queue = 1, .start = 5, .end = 15});
  trace.Kernel({.queue = 2, .start = 12, .end = 20, .name = "ncclDevKernel_AllReduce_Sum_f32"});
  trace.Call({.start = 25, .end = 30, .name = "hipGetDevice"});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "overlap", "gpus"), (Lines{"0|10|10|8|10|80.0|0.0"}));
  EXPECT_EQ(Ask(database, "overlap", "states"), (Lines{
                                                    "0|copy + communication|3|10.0",
                                                    "0|communication|5|16.6",
                                                    "0|compute + copy|5|16.6",
                                                    "0|copy|2|6.6",
                                                    "0|compute|5|16.6",
                                                    "0|idle|10|33.3",
                                                }));
}

// --- graphs

// A captured graph that is launched twice; then one that was made by hand and got the same handles.
TestTrace Graphs() {
  TestTrace trace;
  const auto call = [&](int64_t start, int64_t end, const char* name, const char* args) {
    return trace.Call({.start = start, .end = end, .name = name, .args = args});
  };
  call(0, 10, "hipStreamBeginCapture", "stream=0x51|mode=0");
  call(20, 30, "hipStreamEndCapture", "stream=0x51|pGraph=0x7ff|*pGraph=0x61");
  call(40, 50, "hipGraphInstantiate", "pGraphExec=0x7fe|*pGraphExec=0x71|graph=0x61|bufferSize=0");
  int64_t launch = call(1000, 5000, "hipGraphLaunch", "graphExec=0x71|stream=0x51");
  trace.Kernel({.start = 7000, .end = 9000, .name = "Second", .call = launch, .submit = 1200});
  trace.Kernel(
      {.queue = 1, .start = 6000, .end = 10000, .name = "First", .call = launch, .submit = 1100});
  trace.Kernel({.start = 9500,
                .end = 11000,
                .name = "__amd_rocclr_copyBuffer",
                .type = "CopyDeviceToDevice",
                .call = launch,
                .submit = 1300});
  launch = call(20000, 21000, "hipGraphLaunch", "graphExec=0x71|stream=0x52");
  trace.Kernel({.start = 22000, .end = 23500, .name = "First", .call = launch, .submit = 20500});
  call(30000, 30001, "hipGraphCreate", "pGraph=0x7ff|*pGraph=0x61|flags=0");
  call(30010, 30020, "hipGraphInstantiate",
       "pGraphExec=0x7fe|*pGraphExec=0x71|graph=0x61|bufferSize=0");
  launch = call(31000, 32000, "hipGraphLaunch", "graphExec=0x71|stream=0x51");
  trace.Kernel({.start = 33000, .end = 34000, .name = "Third", .call = launch, .submit = 31500});
  // Made before the recording began.
  launch = call(41000, 42000, "hipGraphLaunch", "graphExec=0x99|stream=0x51");
  trace.Kernel({.start = 43000, .end = 44000, .name = "Old", .call = launch, .submit = 41500});
  return trace;
}

TEST(GoldenGraphs, LaunchesAndKernels) {
  store::TraceDatabase database = Graphs().Open();
  EXPECT_EQ(Ask(database, "graphs", "graphs"), (Lines{
                                                   "1|0x71|0x61|0x51|2|2|5000|6500|9000|4500",
                                                   "1|0x71|0x61||1|1|1000|1000|1000|1000",
                                                   "1|0x99|||1|1|1000|1000|1000|1000",
                                               }));
  EXPECT_EQ(Ask(database, "graphs", "launches"),
            (Lines{
                "1|1|hipGraphLaunch|0x71|0x51|0|1|4000|5000|7500",
                "1|1|hipGraphLaunch|0x71|0x52|0|0|1000|1500|1500",
                "1|1|hipGraphLaunch|0x71|0x51|0|0|1000|1000|1000",
                "1|1|hipGraphLaunch|0x99|0x51|0|0|1000|1000|1000",
            }));
  EXPECT_EQ(Ask(database, "graphs", "kernels"), (Lines{
                                                    "0x71|1|First|64|1|1|64|1|1",
                                                    "0x71|2|Second|64|1|1|64|1|1",
                                                    "0x71|1|Third|64|1|1|64|1|1",
                                                    "0x99|1|Old|64|1|1|64|1|1",
                                                }));
}

// --- autograd

TestTrace Operators() {
  TestTrace trace;
  trace.Range(0, 100,
              "aten::linear, seq = 4, op_id = 1, sizes = [[2, 3], [3]], input_op_ids = [(0,0)]");
  trace.Range(10, 60, "aten::mm, seq = 5, sizes = [[2, 3], [3, 4]], op_id = 2");
  trace.Range(20, 50, "a range of somebody else");
  trace.Kernel(
      {.start = 50, .end = 75, .name = "Gemm", .call = trace.Call({.start = 30, .end = 40})});
  trace.Kernel(
      {.start = 80, .end = 85, .name = "Bias", .call = trace.Call({.start = 70, .end = 80})});
  trace.Range(110, 150, "aten::mm, seq = 6, sizes = [[2, 3], [3, 4]], op_id = 3");
  trace.Kernel(
      {.start = 130, .end = 140, .name = "Gemm", .call = trace.Call({.start = 120, .end = 130})});
  trace.Range(160, 170, "aten::empty, op_id = 9");
  trace.Kernel(
      {.start = 190, .end = 199, .name = "Gemm", .call = trace.Call({.start = 180, .end = 185})});
  return trace;
}

TEST(GoldenAutograd, KernelsByOperatorAndSize) {
  store::TraceDatabase database = Operators().Open();
  EXPECT_EQ(Ask(database, "autograd", "kernels"), (Lines{
                                                      "aten::mm|Gemm|[[2, 3], [3, 4]]|2|17|35",
                                                      "aten::linear|Bias|[[2, 3], [3]]|1|5|5",
                                                  }));
  EXPECT_EQ(Ask(database, "autograd", "operators"), (Lines{
                                                        // inclusive and exclusive, CPU and GPU
                                                        "aten::mm|2|90|90|35|35|2",
                                                        "aten::linear|1|100|50|30|5|1",
                                                        "aten::empty|1|10|10|0|0|0",
                                                    }));
}

TEST(GoldenAutograd, AnOperatorInsideItselfCountsOnce) {
  TestTrace trace;
  trace.Range(0, 100, "aten::to, seq = 1, op_id = 1");
  trace.Range(10, 90, "aten::to, seq = 2, op_id = 2");
  trace.Kernel(
      {.start = 50, .end = 75, .name = "Cast", .call = trace.Call({.start = 30, .end = 40})});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "autograd", "operators"), (Lines{"aten::to|2|100|100|25|25|1"}));
}

// --- what is written into an .rpd

class ExtendTest : public testing::Test {
 protected:
  ExtendTest() {
    auto folder = base::TempDir::Create(testing::TempDir(), "extend-");
    EXPECT_TRUE(folder.ok());
    if (folder.ok()) folder_ = std::make_unique<base::TempDir>(std::move(folder).value());
  }

  std::filesystem::path Write(const TestTrace& trace) {
    const std::filesystem::path path = folder_->path() / "trace.rpd";
    store::TraceDatabase database = trace.Open();
    const auto written = store::ExportRpd(database, path);
    EXPECT_TRUE(written.ok()) << written.error().message;
    return path;
  }

  // With SQLite alone.
  static Lines Query(const std::filesystem::path& path, const std::string& sql) {
    auto file = store::Database::Open(path, store::Database::Mode::kRead);
    if (!file.ok()) return {file.error().message};
    auto query = file.value().Prepare(sql);
    if (!query.ok()) return {query.error().message};
    Lines lines;
    for (;;) {
      const auto more = query.value().Step();
      if (!more.ok()) return {more.error().message};
      if (!more.value()) return lines;
      std::string& line = lines.emplace_back();
      for (int i = 0; i < query.value().columns(); ++i)
        line += (i == 0 ? "" : "|") + query.value().Text(i);
    }
  }

  static void Extended(const std::filesystem::path& path, const char* question) {
    const auto done = Extend(path, question);
    EXPECT_TRUE(done.ok()) << done.error().message;
  }

  std::unique_ptr<base::TempDir> folder_;
};

TEST_F(ExtendTest, CallStacks) {
  const std::filesystem::path path = Write(Nested());
  for (int time = 0; time < 2; ++time) {
    Extended(path, "callstack");
    EXPECT_EQ(Query(path, "SELECT * FROM rochound_call"), (Lines{
                                                              "1||0|100|30|65|0",
                                                              "2|1|1|50|30|45|0",
                                                              "3|2|2|10|10|40|40",
                                                              "4|2|2|10|10|5|5",
                                                              "5|1|1|20|15|20|0",
                                                              "6|5|2|5|5|20|20",
                                                          }));
    EXPECT_EQ(Query(path,
                    "SELECT parent_id, child_id, depth, cpu_time, gpu_time FROM ext_callstack"
                    " ORDER BY child_id, depth"),
              (Lines{"1|1|0|30|0", "2|2|0|30|0", "1|2|1|30|0", "3|3|0|10|40", "2|3|1|10|40",
                     "1|3|2|10|40", "4|4|0|10|5", "2|4|1|10|5", "1|4|2|10|5", "5|5|0|15|0",
                     "1|5|1|15|0", "6|6|0|5|20", "5|6|1|5|20", "1|6|2|5|20"}));
    EXPECT_EQ(Query(path, "SELECT * FROM callStack_inclusive_name ORDER BY parent_id LIMIT 3"),
              (Lines{"1|UserMarker|step|100|65", "2|UserMarker|forward|50|45",
                     "3|hipLaunchKernel||10|40"}));
    EXPECT_EQ(Query(path, "SELECT * FROM callStack_exclusive_name ORDER BY parent_id LIMIT 1"),
              (Lines{"1|UserMarker|step|30|0"}));
    // What RPD's own view says of the same.
    EXPECT_EQ(Query(path,
                    "SELECT parent_id, sum(cpu_time), sum(gpu_time) FROM ext_callstack"
                    " GROUP BY parent_id ORDER BY parent_id"),
              Query(path, "SELECT * FROM callStack_inclusive ORDER BY parent_id"));
    EXPECT_EQ(Query(path, "SELECT * FROM callStack_exclusive ORDER BY parent_id")[2], "3|10|40");
  }
}

TEST_F(ExtendTest, ReplacesWhatRpdMade) {
  const std::filesystem::path path = Write(Nested());
  {
    auto file = store::Database::Open(path, store::Database::Mode::kWrite);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file.value()
                    .Run("CREATE TABLE ext_callstack (id INTEGER, parent_id INTEGER);"
                         "CREATE VIEW callStack_inclusive AS SELECT parent_id FROM ext_callstack")
                    .ok());
  }
  Extended(path, "callstack");
  EXPECT_EQ(Query(path, "SELECT count(*) FROM ext_callstack"), (Lines{"14"}));
  // And it is a trace as before.
  auto trace = store::TraceDatabase::Open({path});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(Ask(trace.value(), "callstack", "names")[0], "step|1|100|30|65|0");
}

TEST_F(ExtendTest, Graphs) {
  const std::filesystem::path path = Write(Graphs());
  for (int time = 0; time < 2; ++time) {
    Extended(path, "graphs");
    EXPECT_EQ(Query(path, "SELECT * FROM ext_graph"),
              (Lines{"1|0x61|0x71|0x51|0|30", "2|0x61|0x71||30000|30001", "3||0x99||41000|42000"}));
    EXPECT_EQ(
        Query(path, "SELECT * FROM graphLaunch"),
        (Lines{"1|1|hipGraphLaunch|0x71|0x51|0|1|4|5|7", "1|1|hipGraphLaunch|0x71|0x52|0|0|1|1|1",
               "1|1|hipGraphLaunch|0x71|0x51|0|0|1|1|1",
               "1|1|hipGraphLaunch|0x99|0x51|0|0|1|1|1"}));
    EXPECT_EQ(
        Query(path, "SELECT graphExec, sequence, kernelName, gridX, workgroupX FROM graphKernel"),
        (Lines{"0x71|1|First|64|64", "0x71|2|Second|64|64", "0x71|1|Third|64|64",
               "0x99|1|Old|64|64"}));
  }
}

TEST_F(ExtendTest, Autograd) {
  const std::filesystem::path path = Write(Operators());
  const Lines strings = Query(path, "SELECT count(*) FROM rocpd_string");
  for (int time = 0; time < 2; ++time) {
    Extended(path, "autograd");
    EXPECT_EQ(Query(path, "SELECT autogradName, seq, op_id, sizes, input_op_ids FROM autograd"),
              (Lines{"aten::linear|4|1|[[2, 3], [3]]|[(0,0)]", "aten::mm|5|2|[[2, 3], [3, 4]]|",
                     "aten::mm|6|3|[[2, 3], [3, 4]]|", "aten::empty||9||"}));
    EXPECT_EQ(Query(path, "SELECT * FROM autogradKernel ORDER BY total_gpu DESC"),
              (Lines{"aten::mm|Gemm|[[2, 3], [3, 4]]|2|17.5|35",
                     "aten::linear|Bias|[[2, 3], [3]]|1|5.0|5"}));
    EXPECT_EQ(
        Query(path, "SELECT count(*) FROM rocpd_metadata WHERE value LIKE '%ext_autogradapi%'"),
        (Lines{"1"}));
    EXPECT_EQ(Query(path, "SELECT count(*) FROM rocpd_string")[0],
              std::to_string(std::stoi(strings[0]) + 3));
  }
}

TEST_F(ExtendTest, Refuses) {
  const std::filesystem::path path = Write(Nested());
  EXPECT_FALSE(Extend(path, "top").ok());
  EXPECT_FALSE(Extend(folder_->path() / "absent.rpd", "callstack").ok());
  const std::filesystem::path other = folder_->path() / "other.json";
  std::ofstream(other) << R"({"traceEvents": []})";
  EXPECT_FALSE(Extend(other, "callstack").ok());
}

}  // namespace
}  // namespace rochound::analysis
