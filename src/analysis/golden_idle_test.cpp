// SPDX-License-Identifier: MIT
//
// What GPUs waited for, on traces small enough to be checked by hand.
#include <gtest/gtest.h>

#include <string>

#include "analysis/questions.h"
#include "analysis/test_answer.h"
#include "analysis/test_trace.h"

namespace rochound::analysis {
namespace {

TEST(GoldenIdle, EveryGapHasItsCauses) {
  store::TraceDatabase database = TwoQueues().Open();
  // gpu, state, ns, share, share of the steady state
  EXPECT_EQ(Ask(database, "idle", "causes"), (Lines{
                                                 "0|busy|153|61.2|61.2",
                                                 "0|launch latency|45|18.0|18.0",
                                                 "0|outside HIP|22|8.8|8.8",
                                                 "0|other HIP call|20|8.0|8.0",
                                                 "0|synchronization|10|4.0|4.0",
                                             }));
  // gpu, cause, what, gaps, ns, share
  EXPECT_EQ(Ask(database, "idle", "reasons"), (Lines{
                                                  "0|outside HIP||2|22|8.8",
                                                  "0|launch latency|A|1|15|6.0",
                                                  "0|launch latency|C|1|14|5.6",
                                                  "0|other HIP call|hipGetLastError|1|10|4.0",
                                                  "0|other HIP call|hipStreamCreate|1|10|4.0",
                                                  "0|synchronization|hipDeviceSynchronize|1|10|4.0",
                                                  "0|launch latency|hipLaunchKernel|2|9|3.6",
                                                  "0|launch latency|D|1|7|2.8",
                                              }));
  // gpu, at, ns, cause, its ns, what, before, after
  EXPECT_EQ(Ask(database, "idle", "gaps"), (Lines{
                                               "0|130|50|outside HIP|20||B|C",
                                               "0|0|30|launch latency|15|A||A",
                                               "0|240|10|other HIP call|10|hipGetLastError|F|",
                                               "0|203|7|launch latency|7|D|E|D",
                                           }));
  // gpu, queue, pid, operations, gaps, busy, outside, other call, sync, latency, too short,
  // dependency, host function, loading, initialisation, unknown, wall, idle
  EXPECT_EQ(Ask(database, "idle", "queues"),
            (Lines{
                "0|0|-|5|4|148|22|20|10|43|7|0|0|0|0|0|0|250|40.8",
                "0|1|-|1|2|20|44|51|100|12|0|23|0|0|0|0|0|250|92.0",
            }));
}

// A gap of 72 that a sleep of 50 fills, and calls that are short.
TEST(GoldenIdle, AGapIsSplitByWhatFilledIt) {
  TestTrace trace;
  trace.Kernel({.start = 10, .end = 20, .name = "A", .call = trace.Call({.start = 0, .end = 5})});
  trace.Call({.start = 6, .end = 25, .name = "hipStreamSynchronize"});
  trace.Range(26, 90, "step 7");
  trace.Range(30, 80, "host sleep");
  trace.Range(40, 40, "a mark");
  trace.Call({.start = 80, .end = 81, .name = "hipEventDestroy"});
  trace.Kernel({.start = 92,
                .end = 100,
                .name = "B",
                .call = trace.Call({.start = 85, .end = 90}),
                .submit = 88});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "idle", "reasons"), (Lines{
                                                  "0|outside HIP|host sleep|1|50|50.0",
                                                  "0|launch latency|A|1|10|10.0",
                                                  "0|outside HIP|step 7|1|8|8.0",
                                                  "0|synchronization|hipStreamSynchronize|1|5|5.0",
                                                  "0|launch latency|B|1|4|4.0",
                                                  "0|launch latency|hipLaunchKernel|1|3|3.0",
                                                  "0|outside HIP||1|1|1.0",
                                                  "0|other HIP call|hipEventDestroy|1|1|1.0",
                                              }));
  EXPECT_EQ(Ask(database, "idle", "gaps")[0], "0|20|72|outside HIP|50|host sleep|A|B");
}

TEST(GoldenIdle, FewGapsAreTheLongest) {
  store::TraceDatabase database = TwoQueues().Open();
  EXPECT_EQ(Ask(database, "idle", "gaps", {.limit = 2}),
            (Lines{"0|130|50|outside HIP|20||B|C", "0|0|30|launch latency|15|A||A"}));
}

// B ended what came after the pause, not what came before.
TEST(GoldenIdle, APauseOfTheRecordingDividesAGap) {
  TestTrace trace;
  trace.Kernel({.start = 0, .end = 20, .name = "A", .call = trace.Call({.start = 0, .end = 5})});
  trace.Kernel({.start = 100,
                .end = 120,
                .name = "B",
                .call = trace.Call({.start = 85, .end = 90}),
                .submit = 88});
  trace.unrecorded = {{.start = 30, .end = 70}};
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "idle", "gaps"),
            (Lines{"0|70|30|outside HIP|15||A|B", "0|20|10|outside HIP|10||A|"}));
}

TEST(GoldenIdle, ManyRangesThatDifferByTheirNumbersAreOne) {
  TestTrace trace;
  trace.Kernel({.start = 1, .end = 2, .call = trace.Call({.start = 0, .end = 1})});
  for (int64_t i = 0; i < 9; ++i)
    trace.Range(10 + i * 10, 15 + i * 10, "step " + std::to_string(i));
  for (int64_t i = 0; i < 2; ++i)
    trace.Range(100 + i * 10, 106 + i * 10, "half " + std::to_string(i));
  store::TraceDatabase database = trace.Open();
  const Lines reasons = Ask(database, "idle", "reasons");
  ASSERT_EQ(reasons.size(), 5U);
  EXPECT_EQ(reasons[0], "0|outside HIP||1|57|49.1");
  EXPECT_EQ(reasons[1], "0|outside HIP|step #|1|45|38.7");
  EXPECT_EQ(reasons[2], "0|outside HIP|half 0|1|6|5.1");
  EXPECT_EQ(reasons[3], "0|outside HIP|half 1|1|6|5.1");
}

// A copy that waits for the kernels before it: time in it is not the GPU's while kernels run, and
// no launch latency after.
TEST(GoldenIdle, ACopyThatWaits) {
  TestTrace trace;
  trace.Kernel({.queue = 1,
                .start = 10,
                .end = 90,
                .name = "A",
                .call = trace.Call({.start = 0, .end = 5, .stream = "0x0"})});
  const int64_t copy = trace.Call({.start = 6, .end = 120, .name = "hipMemcpy", .stream = ""});
  trace.Copy({.start = 105, .end = 115, .call = copy, .submit = 100});
  trace.Kernel({.queue = 1,
                .start = 130,
                .end = 150,
                .name = "B",
                .call = trace.Call({.start = 122, .end = 128, .stream = "0x0"}),
                .submit = 127});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "idle", "reasons"), (Lines{
                                                  "0|synchronization|hipMemcpy|2|15|10.0",
                                                  "0|launch latency|A|1|10|6.6",
                                                  "0|launch latency|CopyHostToDevice|1|5|3.3",
                                                  "0|launch latency|hipLaunchKernel|1|5|3.3",
                                                  "0|launch latency|B|1|3|2.0",
                                                  "0|outside HIP||1|2|1.3",
                                              }));
  EXPECT_EQ(Ask(database, "idle", "causes")[0], "0|busy|110|73.3|73.3");
}

// Of the only process.
void MakeQueueAt(store::TraceDatabase& database, int64_t time) {
  const auto made = database.connection().Run(
      "INSERT INTO rochound_process (session, pid) VALUES (0, 1);"
      "INSERT INTO rochound_queue VALUES (0, 1, 1, 1, 0, " +
      std::to_string(time) + ")");
  ASSERT_TRUE(made.ok()) << made.error().message;
}

TEST(GoldenIdle, AFirstLaunchThatMakesItsQueueIsSetUp) {
  TestTrace trace;
  const int64_t launch = trace.Call({.start = 0, .end = 90});
  trace.Kernel(
      {.start = 95, .end = 100, .name = "A", .call = launch, .submit = 90, .code_object = 7});
  store::TraceDatabase database = trace.Open();
  MakeQueueAt(database, 55);
  EXPECT_EQ(Ask(database, "idle", "reasons"),
            (Lines{
                "0|one-time initialisation|hipLaunchKernel|1|90|90.0",
                "0|launch latency|A|1|5|5.0",
            }));
}

// Code is loaded by the first launch from a code object, and by calls that are made for it; the
// runtime is initialised by hipInit, and where queues are made.
TEST(GoldenIdle, OneTimeCostIsTold) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 40, .name = "hipInit"});
  trace.Call({.start = 40, .end = 50, .name = "hipModuleLoadData"});
  trace.Call({.start = 50, .end = 60, .name = "hipStreamCreate"});
  trace.Call(
      {.tid = 2, .start = 50, .end = 58, .name = "hipDeviceSynchronize"});  // waits meanwhile
  const auto launch = [&](int64_t start, int64_t end, const char* name) {
    trace.Kernel({.start = end + 1,
                  .end = end + 5,
                  .name = name,
                  .call = trace.Call({.start = start, .end = end}),
                  .submit = end,
                  .code_object = 7});
  };
  launch(60, 80, "A");
  launch(90, 95, "B");
  store::TraceDatabase database = trace.Open();
  MakeQueueAt(database, 55);
  EXPECT_EQ(Ask(database, "idle", "reasons"),
            (Lines{
                "0|one-time initialisation|hipInit|1|40|40.0",
                "0|one-time code loading|hipLaunchKernel|1|20|20.0",
                "0|one-time code loading|hipModuleLoadData|1|10|10.0",
                "0|one-time initialisation|hipStreamCreate|1|10|10.0",
                "0|outside HIP||1|5|5.0",
                "0|launch latency|hipLaunchKernel|1|5|5.0",
                "0|launch latency|A|1|1|1.0",
                "0|launch latency|B|1|1|1.0",
            }));
  // 20 of the 100 are not paid once.
  EXPECT_EQ(Ask(database, "idle", "causes"), (Lines{
                                                 "0|one-time initialisation|50|50.0|-",
                                                 "0|one-time code loading|30|30.0|-",
                                                 "0|busy|8|8.0|40.0",
                                                 "0|launch latency|7|7.0|35.0",
                                                 "0|outside HIP|5|5.0|25.0",
                                             }));
}

TEST(GoldenIdle, AFunctionOfTheProgramOnAStream) {
  TestTrace trace;
  const auto launch = [&](int64_t start, const char* name, int64_t runs, int64_t until) {
    trace.Kernel({.start = runs,
                  .end = until,
                  .name = name,
                  .call = trace.Call({.start = start, .end = start + 2, .stream = "0x51"})});
  };
  const auto function = [&](int64_t start, const char* stream) {
    trace.Call({.start = start,
                .end = start + 1,
                .name = "hipLaunchHostFunc",
                .args = std::string("stream=") + stream + "|fn=0x1|userData=0x0"});
  };
  launch(0, "A", 3, 10);
  function(4, "0x51");
  launch(6, "B", 50, 60);  // waits for the function from 10 to 50
  function(8, "0x52");     // on another stream, which nobody waits for
  launch(10, "C", 61, 70);
  function(12, "0x51");
  trace.Call({.start = 20, .end = 100, .name = "hipStreamSynchronize", .args = "stream=0x51"});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "idle", "reasons"), (Lines{
                                                  "0|host function|hipLaunchHostFunc|1|40|40.0",
                                                  "0|host function|hipStreamSynchronize|1|30|30.0",
                                                  "0|launch latency|A|1|3|3.0",
                                                  "0|launch latency|C|1|1|1.0",
                                              }));
}

// A queue with a copy in a hundred kernels: the GPU is busy, and the queue is left out.
TEST(GoldenIdle, AQueueThatIsBarelyUsedDoesNotCount) {
  TestTrace trace;
  const int64_t launch = trace.Call({.start = 0, .end = 1});
  for (int64_t i = 0; i < 120; ++i)
    trace.Kernel(
        {.queue = 1, .start = 10 + i * 10, .end = 20 + i * 10, .call = launch, .submit = 1});
  trace.Copy({.queue = 2, .start = 500, .end = 501, .call = launch, .submit = 1});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "idle", "causes"), (Lines{
                                                 "0|busy|1200|99.1|99.1",
                                                 "0|launch latency|10|0.8|0.8",
                                             }));
  EXPECT_EQ(Ask(database, "idle", "queues").size(), 1U);
  const auto answer = Ask(database, *FindQuestion("idle"), {});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.value().notes.back(),
            "1 queue that has less than 1% of the GPU's operations and busy time is left out here; "
            "`rochound explain busy` lists all queues.");
}

// Two processes with the same queue number on one GPU, and each GPU for itself.
TEST(GoldenIdle, QueuesOfProcessesAndGpusOfTheTrace) {
  TestTrace trace;
  constexpr int64_t kSecond = int64_t{1} << 32;
  const int64_t launch = trace.Call({.start = 0, .end = 1});
  trace.Kernel({.queue = 1, .start = 10, .end = 40, .call = launch, .submit = 1});
  trace.Kernel(
      {.queue = 1, .start = 20, .end = 60, .call = launch, .submit = 1, .id = kSecond + 1});
  trace.Kernel({.gpu = 1, .queue = 1, .start = 0, .end = 90, .call = launch, .submit = 0, .id = 3});
  trace.Call({.start = 90, .end = 100, .name = "hipDeviceSynchronize"});
  store::TraceDatabase database = trace.Open();
  ASSERT_TRUE(database.connection()
                  .Run("INSERT INTO rochound_process (session, pid) VALUES (0, 100), (1, 200)")
                  .ok());
  EXPECT_EQ(Ask(database, "idle", "causes"), (Lines{
                                                 "0|busy|50|50.0|50.0",
                                                 "0|outside HIP|30|30.0|30.0",
                                                 "0|synchronization|10|10.0|10.0",
                                                 "0|launch latency|10|10.0|10.0",
                                                 "1|busy|90|90.0|90.0",
                                                 "1|synchronization|10|10.0|10.0",
                                             }));
  const Lines queues = Ask(database, "idle", "queues");
  ASSERT_EQ(queues.size(), 3U);
  EXPECT_EQ(queues[0].substr(0, 14), "0|1|100|1|2|30");
  EXPECT_EQ(queues[1].substr(0, 14), "0|1|200|1|2|40");
  EXPECT_EQ(queues[2].substr(0, 14), "1|1|100|1|1|90");
}

// A thread that is started to launch: what its process did before is what the GPU waited for.
TEST(GoldenIdle, BeforeAThreadBeganItsProcessIsAsked) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 60, .name = "hipMalloc"});
  trace.Kernel({.start = 100,
                .end = 110,
                .call = trace.Call({.tid = 2, .start = 80, .end = 90}),
                .submit = 90});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "idle", "reasons")[0], "0|other HIP call|hipMalloc|1|60|54.5");
}

TEST(GoldenIdle, WithoutALaunchCall) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 5, .name = "hipGetDevice"});
  trace.Kernel({.start = 20, .end = 30, .submit = 12});
  trace.Call({.start = 40, .end = 50, .name = "hipGetDevice"});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "idle", "causes"),
            (Lines{"0|unknown launch|32|64.0|64.0", "0|busy|10|20.0|20.0",
                   "0|launch latency|8|16.0|16.0"}));
  ASSERT_TRUE(database.connection().Run("DELETE FROM rochound_dispatch").ok());
  EXPECT_EQ(Ask(database, "idle", "causes"),
            (Lines{"0|unknown launch|40|80.0|80.0", "0|busy|10|20.0|20.0"}));
}

// What is put into a graph goes to no stream, and events in it order nothing outside.
TEST(GoldenIdle, CapturedEventsOrderNothing) {
  for (const bool captured : {false, true}) {
    TestTrace trace;
    const int64_t first = trace.Call({.start = 0, .end = 2, .stream = "0x51"});
    trace.Kernel({.start = 5, .end = 100, .name = "A", .call = first, .submit = 1});
    if (captured) {
      trace.Call(
          {.start = 3, .end = 4, .name = "hipStreamBeginCapture", .args = "stream=0x51|mode=0"});
    }
    trace.Call({.start = 5, .end = 6, .name = "hipEventRecord", .args = "event=0xe|stream=0x51"});
    trace.Call(
        {.start = 7, .end = 8, .name = "hipStreamWaitEvent", .args = "stream=0x52|event=0xe"});
    if (captured) {
      trace.Call({.start = 9,
                  .end = 10,
                  .name = "hipStreamEndCapture",
                  .args = "stream=0x51|*pGraph=0x6"});
    }
    const int64_t second = trace.Call({.start = 11, .end = 12, .stream = "0x52"});
    trace.Kernel({.queue = 1, .start = 110, .end = 120, .name = "B", .call = second, .submit = 11});
    store::TraceDatabase database = trace.Open();
    // Latency, then dependency.
    const std::string queue = Ask(database, "idle", "queues")[1];
    EXPECT_NE(queue.find(captured ? "|99|0|0|0|" : "|10|0|89|0|"), std::string::npos) << queue;
  }
}

}  // namespace
}  // namespace rochound::analysis
