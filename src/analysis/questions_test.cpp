// SPDX-License-Identifier: MIT
//
// Each question that is SQL, on a trace small enough to work the answer out by hand.
#include "analysis/questions.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "analysis/statistics.h"
#include "analysis/test_rows.h"
#include "analysis/test_trace.h"
#include "analysis/trace_facts.h"

namespace rochound::analysis {
namespace {

TEST(QuestionsTest, TopAddsUpEqualOperationsAndTellsShapesApart) {
  TestTrace trace;
  const int64_t launch = trace.Call({.start = 0, .end = 5});
  // Alike in everything, at the same time: RPD's own view counts these once.
  trace.Kernel({.queue = 1, .start = 10, .end = 40, .name = "Add", .call = launch});
  trace.Kernel({.queue = 1, .start = 10, .end = 40, .name = "Add", .call = launch});
  trace.Kernel(
      {.queue = 1, .start = 50, .end = 60, .name = "Add", .call = launch, .grid = {128, 2, 1}});
  trace.Copy({.queue = 2, .start = 0, .end = 30, .call = launch, .bytes = 10});
  const Answer answer = AnswerTo(trace, "top");
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
  const Answer answer = AnswerTo(trace, "apis");
  EXPECT_EQ(Rows(answer, "calls"),
            (Lines{"call domain category calls total_ns own_ns mean_ns min_ns max_ns share_percent",
                   "hipMalloc hip memory 2 40 40 20 10 30 80",
                   "hipFree hip memory 1 10 10 10 10 10 20"}));
  EXPECT_EQ(Rows(answer, "ranges"),
            (Lines{"range calls total_ns mean_ns min_ns max_ns", "step 1 2 50 25 5 45"}));
}

TEST(QuestionsTest, ApisCountTimeInsideAnotherCallOnce) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 100, .name = "hipMalloc", .category = "memory"});
  trace.Call({.start = 10, .end = 90, .name = "hsa_allocate", .domain = "hsa"});
  trace.Call({.start = 200, .end = 220, .name = "hsa_allocate", .domain = "hsa"});
  trace.Call({.tid = 2, .start = 0, .end = 100, .name = "hipFree", .category = "memory"});
  EXPECT_EQ(Rows(AnswerTo(trace, "apis"), "calls"),
            (Lines{"call domain category calls total_ns own_ns mean_ns min_ns max_ns share_percent",
                   "hipFree hip memory 1 100 100 100 100 100 45.4545",
                   "hsa_allocate hsa  2 100 100 50 20 80 45.4545",
                   "hipMalloc hip memory 1 100 20 100 100 100 9.09091"}));
}

TEST(QuestionsTest, HostCallsAreNotRanges) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 30, .name = "hipMalloc"});
  trace.Range(0, 45, "step 1");
  store::TraceDatabase database = trace.Open();
  const auto facts = ReadFacts(database);
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts.value().calls, 1);
  EXPECT_EQ(facts.value().length, 45);
}

TEST(QuestionsTest, CopiesAreTheCallsCopies) {
  TestTrace trace;
  const auto copy = [&](int64_t start, int64_t end, const char* name = "hipMemcpy") {
    return trace.Call({.start = start, .end = end, .name = name, .stream = "0x0"});
  };
  // In two pieces, with a pause between them: 2048 bytes in 500 ns.
  const int64_t pieces = copy(0, 1000);
  trace.Copy({.start = 100, .end = 200, .call = pieces, .bytes = 1000});
  trace.Copy({.start = 300, .end = 600, .call = pieces, .bytes = 1048});
  // Asked for in 10 ns, done in 100.
  trace.Copy(
      {.start = 1200, .end = 1300, .call = copy(1100, 1110, "hipMemcpyAsync"), .bytes = 512});
  // Its time is not known.
  trace.Copy({.start = 1400, .end = 1400, .call = copy(1400, 1500), .bytes = 5000, .timed = false});
  // Of a graph: each counts.
  const int64_t graph = trace.Call({.start = 1600, .end = 1610, .name = "hipGraphLaunch"});
  for (int64_t i = 0; i < 2; ++i) {
    trace.Copy({.start = 1700 + 100 * i,
                .end = 1750 + 100 * i,
                .type = "CopyDeviceToHost",
                .call = graph,
                .bytes = 3});
  }
  store::TraceDatabase database = trace.Open();
  // TestTrace gives a call its first piece's size.
  ASSERT_TRUE(
      database.connection().Run("UPDATE rocpd_copyapi SET size = 2048 WHERE size = 1000").ok());
  const Answer answer = AnswerTo(database, "copies");
  EXPECT_EQ(
      Rows(answer, "directions"),
      (Lines{"direction copies moved_bytes total_ns bandwidth_bytes_per_s min_bytes max_bytes",
             "CopyHostToDevice 3 7560 600 4.26667e+09 512 5000",
             "CopyDeviceToHost 2 6 100 6e+07 3 3"}));
  EXPECT_EQ(
      Rows(answer, "sizes"),
      (Lines{"direction up_to_bytes copies moved_bytes total_ns bandwidth_bytes_per_s",
             "CopyDeviceToHost 4 2 6 100 6e+07", "CopyHostToDevice 512 1 512 100 5.12e+09",
             "CopyHostToDevice 2048 1 2048 500 4.096e+09", "CopyHostToDevice 8192 1 5000 0 -"}));
  EXPECT_EQ(Rows(answer, "calls"),
            (Lines{"call calls moved_bytes host_ns copy_ns bandwidth_bytes_per_s",
                   "hipMemcpy 2 7048 1100 500 4.096e+09", "hipMemcpyAsync 1 512 10 100 5.12e+09"}));
}

TEST(QuestionsTest, CapturedCopiesMoveNothing) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 10, .name = "hipStreamBeginCapture"});
  trace.Call({.start = 20, .end = 30, .name = "hipMemcpyAsync", .id = 100});
  trace.Call({.start = 40, .end = 50, .name = "hipStreamEndCapture"});
  trace.Call({.start = 60, .end = 160, .name = "hipMemcpy", .id = 101});  // by the host itself
  store::TraceDatabase database = trace.Open();
  ASSERT_TRUE(database.connection()
                  .Run("INSERT INTO rocpd_copyapi VALUES"
                       " (100, '0x1', 4096, 0, 0, 1, '0x0', '0x0', 0, -1, 0, 0),"
                       " (101, '0x0', 1000, 0, 0, 0, '0x0', '0x0', -1, -1, 1, 0)")
                  .ok());
  const Answer answer = AnswerTo(database, "copies");
  EXPECT_EQ(Rows(answer, "directions").size(), 2U);
  EXPECT_EQ(Rows(answer, "directions")[1], "CopyHostToHost 1 1000 100 1e+10 1000 1000");
  EXPECT_EQ(Rows(answer, "captured"),
            (Lines{"call calls captured_bytes", "hipMemcpyAsync 1 4096"}));
}

TEST(QuestionsTest, WhatWasNotRecordedIsNeitherBusyNorIdle) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 10});
  const int64_t launch = trace.Call({.start = 180, .end = 200});
  trace.Kernel({.queue = 1, .start = 10, .end = 60});
  trace.Kernel({.queue = 1, .start = 190, .end = 200, .call = launch});
  // Two processes pause; together from 50 to 150.
  trace.unrecorded = {{.start = 50, .end = 120}, {.start = 100, .end = 150, .why = "range"}};
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Rows(AnswerTo(database, "busy"), "gpus"),
            (Lines{"gpu operations busy_ns work_ns wall_ns busy_percent", "0 2 50 60 100 50"}));
  const Answer idle = AnswerTo(database, "idle");
  EXPECT_EQ(idle.doubts,
            (Lines{"partial: 100 ns of 100 ns were not recorded: paused, 70 ns; range, 50 ns"}));
  for (const Table& table : idle.tables) {
    if (table.id != "queues") continue;
    ASSERT_EQ(table.rows.size(), 1u);
    int64_t sum = 0;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const std::string& name = table.columns[i].name;
      if (name == "wall_ns") EXPECT_EQ(Cell(table.rows[0][i]), "100");
      if (name.ends_with("_ns") && name != "wall_ns") sum += std::get<int64_t>(table.rows[0][i]);
    }
    EXPECT_EQ(sum, 100);
  }
  int64_t path = 0, states = 0;
  for (const Table& table : AnswerTo(database, "critical-path").tables)
    if (table.id == "attribution")
      for (const auto& row : table.rows) path += std::get<int64_t>(row[2]);
  EXPECT_EQ(path, 100);
  for (const Table& table : AnswerTo(database, "overlap").tables)
    if (table.id == "states")
      for (const auto& row : table.rows)
        for (size_t i = 0; i < table.columns.size(); ++i)
          if (table.columns[i].name == "total_ns") states += std::get<int64_t>(row[i]);
  EXPECT_EQ(states, 100);
}

TEST(QuestionsTest, BusyCountsOverlapOnce) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 200, .name = "hipDeviceSynchronize"});
  trace.Kernel({.gpu = 0, .queue = 1, .start = 10, .end = 50});
  trace.Kernel({.gpu = 0, .queue = 1, .start = 20, .end = 30});   // inside
  trace.Kernel({.gpu = 0, .queue = 1, .start = 40, .end = 60});   // reaches out by ten
  trace.Kernel({.gpu = 0, .queue = 2, .start = 55, .end = 100});  // overlaps by five
  trace.Kernel({.gpu = 1, .queue = 1, .start = 0, .end = 20});
  const Answer answer = AnswerTo(trace, "busy");
  EXPECT_EQ(Rows(answer, "gpus"), (Lines{"gpu operations busy_ns work_ns wall_ns busy_percent",
                                         "0 4 90 115 200 45", "1 1 20 20 200 10"}));
  EXPECT_EQ(Rows(answer, "queues"),
            (Lines{"gpu queue pid operations busy_ns work_ns wall_ns busy_percent",
                   "0 1 - 3 50 70 200 25", "0 2 - 1 45 45 200 22.5", "1 1 - 1 20 20 200 10"}));
}

// What the recorder did is not the program's time; GPUs are there without work, too; processes
// have queues of their own.
TEST(QuestionsTest, BusyTellsGpusWithoutWorkAndWhoseQueues) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 100, .name = "hipDeviceSynchronize"});
  trace.Call({.start = 0, .end = 900, .name = "drain", .domain = "rochound"});
  trace.Kernel({.gpu = 0, .queue = 1, .start = 10, .end = 50});
  trace.Kernel({.gpu = 0, .queue = 1, .start = 20, .end = 60, .id = (int64_t{1} << 32) + 1});
  store::TraceDatabase database = trace.Open();
  ASSERT_TRUE(database.connection()
                  .Run("INSERT INTO rochound_process (session, pid) VALUES (0, 100), (1, 200);"
                       "INSERT INTO rochound_agent (session, agent, \"gpuId\") VALUES"
                       " (0, 0, NULL), (0, 1, 0), (0, 2, 1), (1, 1, 0), (1, 2, 1)")
                  .ok());
  const Answer answer = AnswerTo(database, "busy");
  EXPECT_EQ(Rows(answer, "gpus"), (Lines{"gpu operations busy_ns work_ns wall_ns busy_percent",
                                         "0 2 50 80 100 50", "1 0 0 0 100 0"}));
  EXPECT_EQ(Rows(answer, "queues"),
            (Lines{"gpu queue pid operations busy_ns work_ns wall_ns busy_percent",
                   "0 1 100 1 40 40 100 40", "0 1 200 1 40 40 100 40"}));
}

TEST(QuestionsTest, QueuesKnowTheirDepth) {
  TestTrace trace;
  // Submitted at 0, 10 and 20; done at 40, 60 and 80. Then nothing until one more, 160 to 200.
  trace.Kernel({.queue = 1, .start = 30, .end = 40, .submit = 0});
  trace.Kernel({.queue = 1, .start = 40, .end = 60, .submit = 10});
  trace.Kernel({.queue = 1, .start = 60, .end = 80, .submit = 20});
  trace.Kernel({.queue = 1, .start = 170, .end = 200, .submit = 160});
  const Answer answer = AnswerTo(trace, "queues");
  // 1x10 + 2x10 + 3x20 + 2x20 + 1x20 + 1x40 = 190 of 200 ns; empty from 80 to 160.
  EXPECT_EQ(Rows(answer, "queues"),
            (Lines{"gpu queue pid max_depth mean_depth empty_ns empty_percent single_ns "
                   "single_percent",
                   "0 1 - 3 0.95 80 40 70 35"}));
  const Lines over_time = Rows(answer, "over_time");
  ASSERT_EQ(over_time.size(), 201U);  // a bucket is a nanosecond here
  EXPECT_EQ(over_time[1 + 20], "0 1 - 20 3");
  EXPECT_EQ(over_time[1 + 39], "0 1 - 39 3");
  EXPECT_EQ(over_time[1 + 40], "0 1 - 40 2");
  EXPECT_EQ(over_time[1 + 100], "0 1 - 100 0");
}

// Two processes, each with a queue 1 of its own, one after the other.
TEST(QuestionsTest, QueuesOfProcessesHaveTheirOwnDepth) {
  TestTrace trace;
  constexpr int64_t kSecond = int64_t{1} << 32;
  trace.Kernel({.queue = 1, .start = 10, .end = 20, .submit = 0});
  trace.Kernel({.queue = 1, .start = 20, .end = 40, .submit = 0});
  trace.Kernel({.queue = 1, .start = 30, .end = 1000, .submit = 0, .id = kSecond + 1});
  store::TraceDatabase database = trace.Open();
  ASSERT_TRUE(database.connection()
                  .Run("INSERT INTO rochound_process (session, pid) VALUES (0, 100), (1, 200)")
                  .ok());
  // 2x20 + 1x20 = 60 of 40 ns.
  EXPECT_EQ(Rows(AnswerTo(database, "queues"), "queues"),
            (Lines{"gpu queue pid max_depth mean_depth empty_ns empty_percent single_ns "
                   "single_percent",
                   "0 1 100 2 1.5 0 0 20 50", "0 1 200 1 1 0 0 1000 100"}));
}

TEST(QuestionsTest, LaunchIsCallWaitAndKernel) {
  TestTrace trace;
  const int64_t one = trace.Call({.start = 0, .end = 20});
  const int64_t two = trace.Call({.start = 20, .end = 50});
  trace.Kernel({.start = 25, .end = 30, .name = "Add", .call = one, .submit = 15});
  trace.Kernel({.start = 60, .end = 110, .name = "Add", .call = two, .submit = 40});
  trace.Kernel({.start = 60, .end = 60, .name = "Lost", .call = two, .submit = 60, .timed = false});
  const Answer answer = AnswerTo(trace, "launch");
  EXPECT_EQ(Rows(answer, "kernels"),
            (Lines{"kernel launches call_mean_ns wait_mean_ns wait_median_ns wait_95_ns "
                   "kernel_mean_ns shorter_than_call_percent",
                   "Add 2 25 15 15 20 27 50"}));
  EXPECT_EQ(Rows(answer, "slowest"),
            (Lines{"kernel call op_id call_ns wait_ns kernel_ns", "Add hipLaunchKernel 2 30 20 50",
                   "Add hipLaunchKernel 1 20 10 5"}));
}

constexpr int64_t kMs = 1'000'000;
const std::string kReduce = "ncclDevKernel_AllReduce_Sum_f32(ncclDevKernelArgs)";

// A collective: its ranks start at these times and end together.
void Collective(TestTrace& trace, const std::map<int64_t, int64_t>& starts_by_gpu) {
  int64_t end = INT64_MIN;
  for (const auto& [gpu, start] : starts_by_gpu) end = std::max(end, start + 2 * kMs);
  for (const auto& [gpu, start] : starts_by_gpu)
    trace.Kernel({.gpu = gpu, .start = start, .end = end, .name = kReduce});
}

bool Says(const Answer& answer, const std::string& text) {
  for (const std::string& note : answer.notes)
    if (note.find(text) != std::string::npos) return true;
  return false;
}

TEST(QuestionsTest, StragglersAreThoseWhoStartLast) {
  TestTrace trace;
  for (int64_t i = 0; i < 5; ++i)
    Collective(trace, {{0, i * 100 * kMs}, {1, (i * 100 + 20) * kMs + i % 2 * 100'000}});
  trace.Kernel({.gpu = 0, .start = 0, .end = 1000, .name = "Compute"});
  const Answer answer = AnswerTo(trace, "stragglers");
  EXPECT_EQ(Rows(answer, "ranks"),
            (Lines{"rank gpu pid collectives times_last last_percent waited_ns caused_wait_ns "
                   "met_nobody verdict",
                   "1 1 0 5 5 100 0 100200000 0 late", "0 0 0 5 0 0 100200000 0 0 "}));
  EXPECT_EQ(Rows(answer, "collectives"),
            (Lines{"name ranks rank_bytes meetings mean_spread_ns max_spread_ns late_rank_at_max",
                   kReduce + " 0,1 - 5 2.004e+07 20100000 1"}));
  EXPECT_TRUE(Says(answer, "Rank 1 (GPU 1, pid 0) starts last in 5 of 5 collectives"));
}

TEST(QuestionsTest, NoRankIsLateWhereTheyTakeTurns) {
  TestTrace trace;
  for (int64_t i = 0; i < 8; ++i)
    Collective(trace, {{0, (i * 100 + i % 2 * 3) * kMs}, {1, (i * 100 + (i + 1) % 2 * 3) * kMs}});
  const Answer answer = AnswerTo(trace, "stragglers");
  EXPECT_TRUE(Says(answer, "No rank is later in collectives than chance makes it"));
}

TEST(QuestionsTest, CollectivesOfOtherGroupsAndExtraOnesAreNotPaired) {
  TestTrace trace;
  Collective(trace, {{0, -500 * kMs}});  // of a communicator of its own
  for (int64_t i = 0; i < 5; ++i) {
    Collective(trace, {{0, i * 200 * kMs}, {1, i * 200 * kMs + i % 3 * 1000}});
    Collective(trace, {{2, (i * 200 + 60) * kMs + i % 3 * 1000}, {3, (i * 200 + 60) * kMs}});
  }
  const Answer answer = AnswerTo(trace, "stragglers");
  EXPECT_EQ(Rows(answer, "collectives"),
            (Lines{"name ranks rank_bytes meetings mean_spread_ns max_spread_ns late_rank_at_max",
                   kReduce + " 0,1 - 5 800 2000 1", kReduce + " 2,3 - 5 800 2000 2"}));
  EXPECT_TRUE(Says(answer, "1 of 21 collectives met none of another rank"));
  EXPECT_TRUE(Says(answer, "No rank is later"));
}

TEST(QuestionsTest, TwoProcessesOnOneGpuAreTwoRanks) {
  TestTrace trace;
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t process = 0; process < 2; ++process) {
      const int64_t start = (i * 100 + process * 30) * kMs + i % 2 * 50'000;
      trace.Kernel({.start = start,
                    .end = (i * 100 + 40) * kMs,
                    .name = kReduce,
                    .id = (process << 32) + 10 + i});
    }
  }
  store::TraceDatabase database = trace.Open();
  ASSERT_TRUE(database.connection()
                  .Run("INSERT INTO rochound_process(session, pid) VALUES (0, 70), (1, 71)")
                  .ok());
  const Answer answer = AnswerTo(database, "stragglers");
  EXPECT_TRUE(Says(answer, "Rank 1 (GPU 0, pid 71) starts last in 5 of 5 collectives"));
}

TEST(QuestionsTest, RcclCallsTellWhoMeets) {
  TestTrace trace;
  // Two communicators: ranks of one meet all the time, those of the other begin in the same
  // moments.
  for (int64_t process = 0; process < 4; ++process) {
    const int64_t session = process << 32, pid = 70 + process, group = process / 2;
    int64_t id = session + 1;
    const auto call = [&](int64_t start, int64_t end, const char* name, const std::string& args) {
      const char* const domain = std::string(name).starts_with("nccl") ? "rccl" : "hip";
      return trace.Call({.pid = pid,
                         .start = start,
                         .end = end,
                         .name = name,
                         .args = args,
                         .domain = domain,
                         .id = id++});
    };
    call(0, kMs, "ncclCommInitRank",
         "newcomm=0x1|*newcomm=0xc0|nranks=2|commId={0x" + std::to_string(group) +
             ",0x0}|myrank=" + std::to_string(1 - process % 2));
    for (int64_t turn = 0; turn < 4; ++turn) {
      const int64_t late = process == 1 ? 5 * kMs + turn * 100'000 : 0;
      const int64_t start = (turn + 1) * 100 * kMs + late;
      // The second is grouped: its kernel is launched at the group's end.
      const bool grouped = turn == 1;
      if (grouped) call(start - 30, start - 20, "ncclGroupStart", "");
      call(start, start + (grouped ? 10 : 1000), "ncclAllReduce",
           "sendbuff=0x1|recvbuff=0x2|count=256|datatype=7|op=0|comm=0xc0|stream=0x0");
      if (grouped) call(start + 20, start + 1000, "ncclGroupEnd", "");
      const int64_t launch = call(start + 100, start + 200, "hipExtLaunchKernel", "");
      trace.Kernel({.gpu = process,
                    .start = start + 300,
                    .end = (turn + 1) * 100 * kMs + 10 * kMs,
                    .name = "ncclDevKernel_Generic_4",
                    .call = launch,
                    .id = session + 100 + turn});
    }
  }
  store::TraceDatabase database = trace.Open();
  ASSERT_TRUE(
      database.connection()
          .Run("INSERT INTO rochound_process(session, pid) VALUES (0, 70), (1, 71), (2, 72),"
               " (3, 73)")
          .ok());
  const Answer answer = AnswerTo(database, "stragglers");
  EXPECT_EQ(Rows(answer, "collectives"),
            (Lines{"name ranks rank_bytes meetings mean_spread_ns max_spread_ns late_rank_at_max",
                   "AllReduce 0,1 1024 4 5.15e+06 5300000 1", "AllReduce 2,3 1024 4 0 0 3"}));
  EXPECT_TRUE(Says(answer, "Rank 1 (GPU 1, pid 71) starts last in 4 of 4 collectives"));
}

// Steps of two ranks, the second longer by so much.
TestTrace TwoRanksWithSteps(int64_t longer, bool threads) {
  TestTrace trace;
  for (int64_t i = 0; i < 8; ++i) {
    const int64_t start = i * 100 * kMs;
    trace.Range(start, start + 10 * kMs + i % 3 * 50'000, "step " + std::to_string(i));
    trace.Call({.pid = threads ? 1 : 2,
                .tid = threads ? 2 : 1,
                .start = start,
                .end = start + 10 * kMs + longer + (i + 1) % 3 * 50'000,
                .name = "UserMarker",
                .args = "step " + std::to_string(i),
                .domain = "roctx"});
  }
  return trace;
}

TEST(QuestionsTest, SlowStepsNameTheirRank) {
  for (const bool threads : {false, true}) {
    const Answer answer = AnswerTo(TwoRanksWithSteps(5 * kMs, threads), "stragglers");
    const std::string rank = threads ? "1 2" : "2 1";
    EXPECT_TRUE(Rows(answer, "step_ranks")[1].starts_with(rank + " 8 1.50562e+07 8 "))
        << Rows(answer, "step_ranks")[1];
    EXPECT_TRUE(Rows(answer, "step_ranks")[1].ends_with(" slower"));
    EXPECT_TRUE(Rows(answer, "steps")[1].starts_with("step 0 1 2 10000000 15050000 " + rank + " "))
        << Rows(answer, "steps")[1];
  }
}

TEST(QuestionsTest, RanksThatWaitInsideTheStepAreNotAccused) {
  const Answer answer = AnswerTo(TwoRanksWithSteps(0, false), "stragglers");
  EXPECT_TRUE(Says(answer, "Steps tell of no slow rank"));
  const Lines steps = Rows(answer, "steps");
  ASSERT_EQ(steps.size(), 9U);
  for (size_t i = 1; i < steps.size(); ++i)
    EXPECT_NE(steps[i].find(" - - "), std::string::npos) << steps[i];
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
  const Answer answer = AnswerTo(trace, "variability");
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
            (Lines{"step pid thread turn wall_ns kernels gpu_ns against_mean_percent",
                   "step 1 1 1 1 1000 1 100 -33.3333", "step 2 1 1 2 2000 4 1199 33.3333"}));
}

TEST(QuestionsTest, StepsOfThreadsHaveTheirOwnKernels) {
  TestTrace trace;
  for (int64_t tid = 1; tid <= 2; ++tid) {
    trace.Range(0, 1000, "step 1", tid);
    const int64_t launch = trace.Call({.tid = tid, .start = 10 * tid, .end = 10 * tid + 5});
    trace.Kernel({.gpu = tid, .start = 100, .end = 100 + 100 * tid, .call = launch});
  }
  EXPECT_EQ(Rows(AnswerTo(trace, "variability"), "steps"),
            (Lines{"step pid thread turn wall_ns kernels gpu_ns against_mean_percent",
                   "step 1 1 1 1 1000 1 100 0", "step 1 1 2 1 1000 1 200 0"}));
}

TEST(QuestionsTest, AStepHasTheKernelsOfThreadsWithoutSteps) {
  TestTrace trace;
  trace.Range(0, 1000, "step 1");
  const int64_t backward = trace.Call({.tid = 2, .start = 10, .end = 15});
  trace.Kernel({.start = 100, .end = 150, .call = backward});
  EXPECT_EQ(Rows(AnswerTo(trace, "variability"), "steps")[1], "step 1 1 1 1 1000 1 50 0");
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
  const Answer answer = AnswerTo(trace, "health");
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

// Two devices; a buffer that is freed, one that stays, a leak of four, and the runtime's own.
TEST(QuestionsTest, MemoryTellsThePeakAndWhatGrows) {
  TestTrace trace;
  for (int64_t i = 0; i < 8; ++i) {
    trace.Call({.start = i * 100, .end = i * 100 + 20, .name = "hipMalloc"});
    trace.Call({.tid = 2, .start = i * 100, .end = i * 100 + 50, .name = "hipStreamSynchronize"});
  }
  trace.Call({.start = 790, .end = 800, .name = "hipFree"});
  store::TraceDatabase database = trace.Open();
  const auto added = database.connection().Run(R"(
      INSERT INTO rochound_agent(session, agent, type, "gpuId") VALUES (0, 0, 'cpu', -1), (0, 1, 'gpu', 0);
      INSERT INTO rochound_allocation(id, pid, agent, size, start, "end") VALUES
        (1, 1, 1, 1000, 10, 310),  -- freed
        (2, 1, 1, 500, 110, NULL), -- stays
        (3, 1, 1, 10, 310, NULL), (4, 1, 1, 10, 510, NULL), (5, 1, 1, 10, 710, NULL),
        (6, 1, 0, 64, 60, NULL),    -- no call of the process is under way
        (7, 1, 65535, 1, 130, 140)  -- thread 2 waits meanwhile)");
  ASSERT_TRUE(added.ok()) << added.error().message;
  const Answer answer = AnswerTo(database, "memory");
  EXPECT_EQ(
      Rows(answer, "devices"),
      (Lines{"device peak_bytes peak_at_ns end_bytes allocations freed", "GPU 0 1500 110 530 5 1",
             "host 64 60 64 1 0", "device not recorded 1 130 0 1 1"}));
  EXPECT_EQ(Rows(answer, "peak"),
            (Lines{"device call allocations held_bytes share_percent largest_bytes oldest_at_ns",
                   "GPU 0 hipMalloc 2 1500 100 1000 10",
                   "host (outside of recorded calls) 1 64 100 64 60",
                   "device not recorded hipStreamSynchronize 1 1 100 1 130"}));
  EXPECT_EQ(
      Rows(answer, "never_freed"),
      (Lines{"device call keeps_growing allocations held_bytes growth_bytes_per_s first_at_ns "
             "last_at_ns",
             "GPU 0 hipMalloc yes 4 530 8.83333e+08 110 710",
             "host (outside of recorded calls) no 1 64 - 60 60"}));
  EXPECT_EQ(answer.notes.at(0),
            "Peak: 1.5 KiB on GPU 0, 64 B on host, 1 B on device not recorded. Keeps growing: "
            "hipMalloc on GPU 0 (530 B in 4 allocations).");
  // 200 pieces of 4 ns for each device.
  const Lines over_time = Rows(answer, "over_time");
  ASSERT_EQ(over_time.size(), 601U);
  EXPECT_EQ(over_time[1 + 2], "GPU 0 8 1000");
  EXPECT_EQ(over_time[1 + 52], "GPU 0 208 1500");
  EXPECT_EQ(over_time[1 + 80], "GPU 0 320 510");
}

TEST(QuestionsTest, MemoryOfATraceWithoutAllocations) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 10});
  const Answer answer = AnswerTo(trace, "memory");
  EXPECT_EQ(answer.notes, Lines{"No allocations are in this trace."});
  EXPECT_EQ(Rows(answer, "over_time").size(), 1U);
}

// Kernel 1 is the program's, kernel 2 took its place.
TestTrace SwappedTrace() {
  TestTrace trace;
  const int64_t launch = trace.Call({.start = 0, .end = 5});
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t at = 1000 * i;
    trace.Kernel({.queue = 1, .start = at, .end = at + 120 + i, .name = "Add", .call = launch});
    trace.Kernel(
        {.queue = 1, .start = at + 500, .end = at + 600 + i, .name = "Add2", .call = launch});
  }
  return trace;
}

void AddSwap(store::TraceDatabase& trace, const std::string& values) {
  const auto added = trace.connection().Run("INSERT INTO rochound_swap VALUES (" + values + ")");
  EXPECT_TRUE(added.ok()) << added.error().message;
}

TEST(QuestionsTest, SwapsAreToldWithTheirReasons) {
  store::TraceDatabase trace = SwappedTrace().Open();
  AddSwap(trace, "1, 1, 2, 7, 'swapped', 'fast.hsaco', ''");
  AddSwap(trace, "2, 1, NULL, 8, 'refused', 'old.hsaco', 'it is too old'");
  const Answer answer = AnswerTo(trace, "swaps");
  EXPECT_EQ(Rows(answer, "decisions"),
            (Lines{"kernel decision file reason", "Add swapped fast.hsaco ",
                   "Add refused old.hsaco it is too old"}));
  // Launches that did not alternate are shown, and no speed-up is made of them.
  EXPECT_EQ(Rows(answer, "launches"),
            (Lines{"kernel file original_launches swapped_launches original_mean_ns "
                   "swapped_mean_ns speedup speedup_low speedup_high",
                   "Add fast.hsaco 6 6 122.5 102.5 - - -"}));
}

TEST(QuestionsTest, ComparedLaunchesHaveATableOfTheirOwn) {
  store::TraceDatabase trace = SwappedTrace().Open();
  AddSwap(trace, "1, 1, 2, 7, 'swapped', 'fast.hsaco', ''");
  AddSwap(trace, "2, 1, 2, 8, 'equal', 'fast.hsaco', 'launch 1'");
  AddSwap(trace, "3, 1, 2, 9, 'not verified', 'fast.hsaco', 'launch 2: it writes nothing'");
  const Answer answer = AnswerTo(trace, "swaps");
  EXPECT_EQ(Rows(answer, "decisions"),
            (Lines{"kernel decision file reason", "Add swapped fast.hsaco "}));
  EXPECT_EQ(Rows(answer, "comparisons"),
            (Lines{"kernel file result detail", "Add fast.hsaco equal launch 1",
                   "Add fast.hsaco not verified launch 2: it writes nothing"}));
}

TEST(QuestionsTest, AnInterpretersTimesAreNoSpeedUp) {
  store::TraceDatabase trace = SwappedTrace().Open();
  AddSwap(trace, "1, 1, 2, 7, 'alternating', 'fast.hsaco', ''");
  ASSERT_TRUE(trace.connection()
                  .Run("INSERT INTO rochound_fact (name, value) VALUES ('library', "
                       "'/usr/lib/librochound_softgpu.so')")
                  .ok());
  const Answer answer = AnswerTo(trace, "swaps");
  EXPECT_EQ(Rows(answer, "launches").at(0),
            "kernel file original_launches swapped_launches original_mean_ns swapped_mean_ns "
            "interpreter_ratio interpreter_ratio_low interpreter_ratio_high");
}

TEST(QuestionsTest, AlternatingSwapsHaveASpeedUp) {
  store::TraceDatabase trace = SwappedTrace().Open();
  AddSwap(trace, "1, 1, 2, 7, 'alternating', 'fast.hsaco', ''");
  const Answer answer = AnswerTo(trace, "swaps");
  ASSERT_EQ(answer.tables.size(), 2u);
  const auto& row = answer.tables[1].rows.at(0);
  EXPECT_NEAR(std::get<double>(row[6]), (122.0 / 102 + 123.0 / 103) / 2, 1e-9);
  EXPECT_NEAR(std::get<double>(row[7]), 125.0 / 105, 1e-9);
  EXPECT_NEAR(std::get<double>(row[8]), 120.0 / 100, 1e-9);
}

}  // namespace
}  // namespace rochound::analysis
