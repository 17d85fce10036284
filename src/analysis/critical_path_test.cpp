// SPDX-License-Identifier: MIT
//
// The critical path of traces small enough to be checked by hand. A nanosecond in them is a
// microsecond or more in life, so times that are compared with the error of clocks are longer.
#include "analysis/critical_path.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "analysis/test_answer.h"
#include "analysis/test_trace.h"

namespace rochound::analysis {
namespace {

TEST(Blocking, NamesTellWhatACallWaitsFor) {
  const std::map<std::string, Blocking> calls = {
      {"hipDeviceSynchronize", Blocking::kDevice},
      {"cudaDeviceSynchronize", Blocking::kDevice},
      {"cuCtxSynchronize", Blocking::kDevice},
      {"hipStreamSynchronize", Blocking::kStream},
      {"hipStreamSynchronize_spt", Blocking::kStream},
      {"hipEventSynchronize", Blocking::kEvent},
      {"hipMemcpy", Blocking::kStream},
      {"hipMemcpyDtoH", Blocking::kStream},
      {"hipMemcpy2DFromArray", Blocking::kStream},
      {"hipMemcpyWithStream", Blocking::kStream},
      {"hipMemcpyFromSymbol", Blocking::kStream},
      {"hipMemcpyAsync", Blocking::kMayStream},  // pageable memory
      {"hipMemcpyDtoHAsync", Blocking::kMayStream},
      {"hipMemset", Blocking::kMayStream},  // host memory
      {"hipMemsetAsync", Blocking::kNot},
      {"hipStreamDestroy", Blocking::kMayStream},
      {"hipGraphLaunch", Blocking::kMayStream},
      {"hipFree", Blocking::kMemory},
      {"hipHostFree", Blocking::kMemory},
      {"hipFreeAsync", Blocking::kNot},
      {"hipMalloc", Blocking::kMayDevice},
      {"hipMallocAsync", Blocking::kNot},
      {"hipModuleUnload", Blocking::kMayDevice},
      {"hipStreamQuery", Blocking::kQueryStream},
      {"hipEventQuery", Blocking::kQueryEvent},
      {"hipLaunchKernel", Blocking::kNot},
      {"hipEventRecord", Blocking::kNot},
      {"hipStreamWaitEvent", Blocking::kNot},
      {"hsa_signal_wait_scacquire", Blocking::kDevice},
      {"Memcpy", Blocking::kNot},
  };
  for (const auto& [name, blocking] : calls) EXPECT_EQ(BlockingOf(name), blocking) << name;
  EXPECT_TRUE(AlwaysBlocks(Blocking::kMemory));
  EXPECT_FALSE(AlwaysBlocks(Blocking::kMayStream));
  EXPECT_FALSE(AlwaysBlocks(Blocking::kQueryEvent));
}

TEST(GoldenCriticalPath, AttributionAndSlack) {
  store::TraceDatabase database = TwoQueues().Open();
  EXPECT_EQ(Ask(database, "critical-path", "attribution"), (Lines{
                                                               "kernels|2|100|40.0",
                                                               "outside HIP|8|64|25.6",
                                                               "host calls|9|61|24.4",
                                                               "launch latency|1|15|6.0",
                                                               "return from waiting|1|10|4.0",
                                                           }));
  EXPECT_EQ(Ask(database, "critical-path", "kernels"), (Lines{"A|1|70|28.0|0", "B|1|30|12.0|0"}));
  EXPECT_EQ(Ask(database, "critical-path", "slack"),
            (Lines{"A|1|1|0|0", "B|1|1|0|0", "F|1|0|10|10", "C|1|0|17|17", "E|1|0|17|17",
                   "D|1|0|20|20"}));
  const Lines path = Ask(database, "critical-path", "path");
  ASSERT_GE(path.size(), 9U);
  EXPECT_EQ(Lines(path.begin(), path.begin() + 9),
            (Lines{
                "0|10|host calls|hipStreamCreate",
                "10|2|outside HIP|",
                "12|3|host calls|hipLaunchKernel",
                "15|15|launch latency|A",
                "30|70|kernels|A",
                "100|30|kernels|B",
                "130|10|return from waiting|hipDeviceSynchronize",
                "140|20|outside HIP|",
                "160|10|host calls|hipLaunchKernel",
            }));
  EXPECT_EQ(Ask(database, "critical-path", "longest")[0], "30|70|kernels|A");
}

// The default stream waits for streams that were created as blocking ones, and they for it.
TEST(GoldenCriticalPath, DefaultStream) {
  for (const bool blocking : {true, false}) {
    TestTrace trace;
    trace.Call({.start = 0,
                .end = 1,
                .name = "hipStreamCreateWithFlags",
                .args = std::string("stream=0x7ffc|*stream=0x51|flags=") + (blocking ? "0" : "1")});
    const int64_t first = trace.Call({.start = 2, .end = 4, .stream = "0x51"});
    trace.Kernel({.start = 10, .end = 50, .name = "side", .call = first, .submit = 3});
    const int64_t second = trace.Call({.start = 5, .end = 7, .stream = "0x0"});
    trace.Kernel({.queue = 1, .start = 55, .end = 80, .name = "main", .call = second, .submit = 6});
    store::TraceDatabase database = trace.Open();
    EXPECT_EQ(Ask(database, "critical-path", "slack"),
              blocking ? (Lines{"main|1|1|0|0", "side|1|1|0|0"})
                       : (Lines{"main|1|1|0|0", "side|1|0|30|30"}));
  }
}

// A copy whose times are not known stands for nothing; what its stream had before does.
TEST(GoldenCriticalPath, ACopyWaitsForWhatWasBeforeIt) {
  for (const char* name : {"hipMemcpy", "hipMemcpyAsync"}) {
    TestTrace trace;
    const int64_t launch = trace.Call({.start = 0, .end = 10, .stream = "0x0"});
    trace.Kernel({.start = 20, .end = 90, .name = "A", .call = launch, .submit = 5});
    const int64_t copy = trace.Call({.start = 12, .end = 100, .name = name, .stream = "0x0"});
    trace.Copy({.queue = 1, .start = 14, .end = 14, .call = copy, .submit = 14, .timed = false});
    trace.Call({.start = 110, .end = 120, .name = "hipGetDevice"});
    store::TraceDatabase database = trace.Open();
    EXPECT_EQ(Ask(database, "critical-path", "path"),
              (Lines{"0|5|host calls|hipLaunchKernel", "5|15|launch latency|A", "20|70|kernels|A",
                     std::string("90|10|return from waiting|") + name, "100|10|outside HIP|",
                     "110|10|host calls|hipGetDevice"}))
        << name;
  }
}

// A copy through a buffer is submitted when what came before is over.
TEST(GoldenCriticalPath, ACopyWaitsBeforeItIsSubmitted) {
  TestTrace trace;
  const int64_t launch = trace.Call({.start = 0, .end = 10, .stream = "0x0"});
  trace.Kernel({.start = 20, .end = 90, .name = "A", .call = launch, .submit = 5});
  const int64_t copy = trace.Call({.start = 12, .end = 140, .name = "hipMemcpy", .stream = ""});
  trace.Copy({.queue = 1, .start = 101, .end = 110, .call = copy, .submit = 96});
  trace.Copy({.queue = 1, .start = 121, .end = 130, .call = copy, .submit = 114});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "critical-path", "path"),
            (Lines{"0|5|host calls|hipLaunchKernel", "5|15|launch latency|A", "20|70|kernels|A",
                   "90|6|return from waiting|hipMemcpy", "96|5|launch latency|CopyHostToDevice",
                   "101|9|copies|CopyHostToDevice", "110|4|return from waiting|hipMemcpy",
                   "114|7|launch latency|CopyHostToDevice", "121|9|copies|CopyHostToDevice",
                   "130|10|return from waiting|hipMemcpy"}));
}

// hipMalloc returned before the kernel was over, hipFree after it: the second one waited.
TEST(GoldenCriticalPath, ACallThatMayWaitDidIfAllWasOver) {
  TestTrace trace;
  const int64_t launch = trace.Call({.start = 0, .end = 10'000, .stream = "0x0"});
  trace.Kernel({.start = 20'000, .end = 900'000, .name = "A", .call = launch, .submit = 5'000});
  trace.Call({.start = 30'000, .end = 50'000, .name = "hipMalloc"});
  trace.Call({.start = 60'000, .end = 910'000, .name = "hipFree"});
  trace.Call({.start = 910'000, .end = 920'000, .name = "hipMalloc"});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "critical-path", "path"),
            (Lines{"0|5000|host calls|hipLaunchKernel", "5000|15000|launch latency|A",
                   "20000|880000|kernels|A", "900000|10000|return from waiting|hipFree",
                   "910000|10000|host calls|hipMalloc"}));
}

// What ended after the return was not waited for, whatever the call's name says.
TEST(GoldenCriticalPath, WhatEndedAfterTheReturnIsNotOnThePath) {
  TestTrace trace;
  const int64_t launch = trace.Call({.start = 0, .end = 10'000, .stream = "0x0"});
  trace.Kernel({.start = 10'000, .end = 900'000, .name = "A", .call = launch, .submit = 10'000});
  trace.Call({.start = 20'000, .end = 50'000, .name = "hipDeviceSynchronize"});
  trace.Call({.start = 990'000, .end = 1'000'000, .name = "hipGetDevice"});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "critical-path", "kernels"), Lines{});
  EXPECT_EQ(Ask(database, "critical-path", "slack"), (Lines{"A|1|0|100000|100000"}));
}

TEST(GoldenCriticalPath, ADeviceIsTheOneThatTheThreadChose) {
  for (const char* call : {"hipDeviceSynchronize", "hipStreamSynchronize"}) {
    TestTrace trace;
    const auto choose = [&](int64_t at, int device) {
      trace.Call({.start = at,
                  .end = at + 1,
                  .name = "hipSetDevice",
                  .args = "deviceId=" + std::to_string(device)});
    };
    choose(0, 0);
    const int64_t first = trace.Call({.start = 2, .end = 4, .stream = "0x0"});
    trace.Kernel({.gpu = 5, .start = 10, .end = 100, .name = "A", .call = first, .submit = 3});
    choose(5, 1);
    const int64_t second = trace.Call({.start = 7, .end = 9, .stream = "0x0"});
    trace.Kernel({.gpu = 7, .start = 10, .end = 105, .name = "B", .call = second, .submit = 8});
    choose(10, 0);
    trace.Call({.start = 12, .end = 110, .name = call, .args = "stream=0x0"});
    trace.Call({.start = 150, .end = 160, .name = "hipGetDevice"});
    store::TraceDatabase database = trace.Open();
    EXPECT_EQ(Ask(database, "critical-path", "kernels"), (Lines{"A|1|90|56.2|0"})) << call;
    EXPECT_EQ(Ask(database, "critical-path", "slack"), (Lines{"A|1|1|0|0", "B|1|0|55|55"})) << call;
  }
}

TEST(GoldenCriticalPath, APollingLoopWaits) {
  TestTrace trace;
  const int64_t launch = trace.Call({.start = 0, .end = 10, .stream = "0x51"});
  trace.Kernel({.start = 20, .end = 90, .name = "A", .call = launch, .submit = 5});
  trace.Call({.start = 11, .end = 12, .name = "hipEventRecord", .args = "event=0xe|stream=0x51"});
  for (int64_t at = 20; at < 90; at += 20) {
    trace.Call(
        {.start = at, .end = at + 2, .name = "hipEventQuery", .args = "event=0xe", .result = 600});
  }
  trace.Call({.start = 100, .end = 102, .name = "hipEventQuery", .args = "event=0xe"});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "critical-path", "path"),
            (Lines{"0|5|host calls|hipLaunchKernel", "5|15|launch latency|A", "20|70|kernels|A",
                   "90|12|return from waiting|hipEventQuery"}));
}

// A loop that asks for two events in turn waits for the one after which it goes on, and if it asks
// on, for the other as well.
TEST(GoldenCriticalPath, APollingLoopWaitsForSeveral) {
  const auto path = [](int64_t last) {
    TestTrace trace;
    const int64_t first = trace.Call({.start = 0, .end = 10, .stream = "0x51"});
    trace.Kernel({.start = 20, .end = 90, .name = "A", .call = first, .submit = 5});
    const int64_t second = trace.Call({.start = 11, .end = 13, .stream = "0x52"});
    trace.Kernel({.queue = 2, .start = 20, .end = 190, .name = "B", .call = second, .submit = 12});
    trace.Call({.start = 14, .end = 15, .name = "hipEventRecord", .args = "event=0xa|stream=0x51"});
    trace.Call({.start = 16, .end = 17, .name = "hipEventRecord", .args = "event=0xb|stream=0x52"});
    const auto query = [&](int64_t at, const char* event, int64_t ready) {
      TestCall call{.start = at, .end = at + 2, .name = "hipEventQuery", .args = event};
      if (at < ready) call.result = 600;
      trace.Call(call);
    };
    for (int64_t at = 20; at <= last; at += 20) {
      query(at, "event=0xa", 90);
      query(at + 3, "event=0xb", 190);
    }
    trace.Call({.start = 250, .end = 260, .name = "hipGetDevice"});
    store::TraceDatabase database = trace.Open();
    return Ask(database, "critical-path", "path");
  };
  EXPECT_EQ(path(100), (Lines{"0|5|host calls|hipLaunchKernel", "5|15|launch latency|A",
                              "20|70|kernels|A", "90|12|return from waiting|hipEventQuery",
                              "102|1|outside HIP|", "103|2|host calls|hipEventQuery",
                              "105|145|outside HIP|", "250|10|host calls|hipGetDevice"}));
  EXPECT_EQ(path(200), (Lines{"0|10|host calls|hipLaunchKernel", "10|1|outside HIP|",
                              "11|1|host calls|hipLaunchKernel", "12|8|launch latency|B",
                              "20|170|kernels|B", "190|15|return from waiting|hipEventQuery",
                              "205|45|outside HIP|", "250|10|host calls|hipGetDevice"}));
}

// The main thread starts a thread, waits for it, starts the next one, and goes on.
TEST(GoldenCriticalPath, ThreadsBeginWithTheirFirstEvent) {
  TestTrace trace;
  trace.Call({.pid = 7, .tid = 7, .start = 0, .end = 10, .name = "hipInit"});
  for (int64_t round = 0; round < 2; ++round) {
    const int64_t at = 20 + 50 * round;
    const int64_t launch =
        trace.Call({.pid = 7, .tid = 8 + round, .start = at, .end = at + 4, .stream = "0x0"});
    trace.Kernel({.start = at + 6,
                  .end = at + 36,
                  .name = round == 0 ? "A" : "B",
                  .call = launch,
                  .submit = at + 4});
    trace.Call({.pid = 7,
                .tid = 8 + round,
                .start = at + 5,
                .end = at + 40,
                .name = "hipDeviceSynchronize"});
  }
  trace.Call({.pid = 7, .tid = 7, .start = 115, .end = 120, .name = "hipGetDevice"});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "critical-path", "path"),
            (Lines{"0|10|host calls|hipInit", "10|10|outside HIP|",
                   "20|4|host calls|hipLaunchKernel", "24|2|launch latency|A", "26|30|kernels|A",
                   "56|4|return from waiting|hipDeviceSynchronize", "60|10|outside HIP|",
                   "70|4|host calls|hipLaunchKernel", "74|2|launch latency|B", "76|30|kernels|B",
                   "106|4|return from waiting|hipDeviceSynchronize", "110|5|outside HIP|",
                   "115|5|host calls|hipGetDevice"}));
}

TEST(GoldenCriticalPath, AProcessBeginsAfterTheOneBefore) {
  TestTrace trace;
  trace.processes = {{.pid = 7, .parent = 1, .start = 0, .end = 52},
                     {.pid = 9, .parent = 1, .start = 60, .end = 100}};
  trace.Call({.pid = 7, .tid = 7, .start = 0, .end = 50, .name = "hipInit"});
  trace.Call({.pid = 9, .tid = 9, .start = 70, .end = 100, .name = "hipInit"});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "critical-path", "path"),
            (Lines{"0|50|host calls|hipInit", "50|10|start of a process|", "60|10|outside HIP|",
                   "70|30|host calls|hipInit"}));
}

TEST(GoldenCriticalPath, TimeOutsideHipHasTheNameOfItsRange) {
  TestTrace trace;
  trace.Range(0, 100, "step");
  trace.Range(20, 60, "load data");
  trace.Call({.start = 0, .end = 10, .name = "hipMalloc"});
  trace.Call({.start = 30, .end = 35, .name = "hipMalloc"});
  trace.Call({.start = 110, .end = 120, .name = "hipFree"});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(
      Ask(database, "critical-path", "path"),
      (Lines{"0|10|host calls|hipMalloc", "10|10|outside HIP|step", "20|10|outside HIP|load data",
             "30|5|host calls|hipMalloc", "35|25|outside HIP|load data", "60|40|outside HIP|step",
             "100|10|outside HIP|", "110|10|host calls|hipFree"}));
  EXPECT_EQ(Ask(database, "critical-path", "calls"),
            (Lines{"outside HIP: step|2|50|41.6", "outside HIP: load data|2|35|29.1",
                   "hipMalloc|2|15|12.5", "hipFree|1|10|8.3", "outside HIP|1|10|8.3"}));
}

TEST(GoldenCriticalPath, AHostFunctionIsNamed) {
  TestTrace trace;
  const int64_t first = trace.Call({.start = 0, .end = 2, .stream = "0x51"});
  trace.Kernel({.start = 5, .end = 20, .name = "A", .call = first, .submit = 1});
  trace.Call({.start = 3, .end = 4, .name = "hipLaunchHostFunc", .args = "stream=0x51|fn=0x1"});
  const int64_t second = trace.Call({.start = 5, .end = 7, .stream = "0x51"});
  trace.Kernel({.start = 60, .end = 80, .name = "B", .call = second, .submit = 6});
  trace.Call({.start = 8, .end = 9, .name = "hipLaunchHostFunc", .args = "stream=0x51|fn=0x1"});
  trace.Call({.start = 10, .end = 130, .name = "hipStreamSynchronize", .args = "stream=0x51"});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "critical-path", "path"),
            (Lines{"0|1|host calls|hipLaunchKernel", "1|4|launch latency|A", "5|15|kernels|A",
                   "20|40|host functions|hipLaunchHostFunc", "60|20|kernels|B",
                   "80|50|host functions|hipLaunchHostFunc"}));
}

// Stream 0x52 waits from 5 to 104 for the value at 0xab0.
void WaitForValue(TestTrace* trace, int64_t queue) {
  const int64_t call = trace->Call({.start = 0,
                                    .end = 2,
                                    .name = "hipStreamWaitValue64",
                                    .args = "stream=0x52|ptr=0xab0|value=1|flags=0"});
  trace->Kernel({.queue = queue,
                 .start = 5,
                 .end = 104,
                 .name = "wait",
                 .type = "RuntimeKernel",
                 .call = call,
                 .submit = 1});
}

// The operation that waits for a value has nothing to do until the value is written.
TEST(GoldenCriticalPath, AWaitForAValueEndsWithItsWrite) {
  for (const bool written : {true, false}) {
    TestTrace trace;
    WaitForValue(&trace, 1);
    const int64_t behind = trace.Call({.start = 3, .end = 4, .stream = "0x52"});
    trace.Kernel({.queue = 1, .start = 110, .end = 150, .name = "B", .call = behind, .submit = 4});
    const int64_t launch = trace.Call({.start = 5, .end = 7, .stream = "0x51"});
    trace.Kernel({.start = 10, .end = 90, .name = "A", .call = launch, .submit = 6});
    const int64_t write =
        trace.Call({.start = 8,
                    .end = 9,
                    .name = "hipStreamWriteValue64",
                    .args = std::string("stream=0x51|ptr=") + (written ? "0xab0" : "0xab8")});
    trace.Kernel({.start = 90,
                  .end = 100,
                  .name = "write",
                  .type = "RuntimeKernel",
                  .call = write,
                  .submit = 9});
    store::TraceDatabase database = trace.Open();
    EXPECT_EQ(Ask(database, "critical-path", "path"),
              written ? (Lines{"0|2|host calls|hipStreamWaitValue64", "2|1|outside HIP|",
                               "3|1|host calls|hipLaunchKernel", "4|1|outside HIP|",
                               "5|1|host calls|hipLaunchKernel", "6|4|launch latency|A",
                               "10|80|kernels|A", "90|10|RuntimeKernel|write",
                               "100|4|wait for a value|wait",
                               "104|6|start after another operation|B", "110|40|kernels|B"})
                      : (Lines{"0|1|host calls|hipStreamWaitValue64", "1|4|launch latency|wait",
                               "5|99|wait for a value|wait",
                               "104|6|start after another operation|B", "110|40|kernels|B"}));
  }
}

// Who waits goes on with the write that came last; an earlier one had another value.
TEST(GoldenCriticalPath, AWaitForAValueEndsWithTheLastWrite) {
  TestTrace trace;
  const auto write = [&](int64_t queue, int64_t start, int64_t end, const char* name) {
    const int64_t call = trace.Call({.start = start - 5,
                                     .end = start - 3,
                                     .name = "hipStreamWriteValue64",
                                     .args = "stream=0x5" + std::to_string(queue) + "|ptr=0xab0"});
    trace.Kernel({.queue = queue,
                  .start = start,
                  .end = end,
                  .name = name,
                  .type = "RuntimeKernel",
                  .call = call,
                  .submit = start - 4});
  };
  WaitForValue(&trace, 2);
  write(1, 20, 30, "first write");
  write(3, 60, 100, "last write");
  store::TraceDatabase database = trace.Open();
  const Lines path = Ask(database, "critical-path", "path");
  ASSERT_GE(path.size(), 2U);
  EXPECT_EQ(Lines(path.end() - 2, path.end()),
            (Lines{"60|40|RuntimeKernel|last write", "100|4|wait for a value|wait"}));
}

TEST(GoldenCriticalPath, MedianOfTwoSlacksIsTheSmaller) {
  TestTrace trace;
  const auto launch = [&](int64_t queue, int64_t at, int64_t end, const char* name) {
    const int64_t call =
        trace.Call({.start = at, .end = at + 2, .stream = "0x5" + std::to_string(queue)});
    trace.Kernel(
        {.queue = queue, .start = 20, .end = end, .name = name, .call = call, .submit = at + 1});
  };
  launch(0, 0, 50, "side");
  launch(1, 3, 60, "side");
  launch(2, 6, 80, "main");
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "critical-path", "slack"), (Lines{"main|1|1|0|0", "side|2|0|20|20"}));
}

TEST(GoldenCriticalPath, PausesOfTheRecordingAreNotOnThePath) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 10, .name = "hipMalloc"});
  trace.Call({.start = 110, .end = 120, .name = "hipFree"});
  trace.unrecorded = {{.start = 20, .end = 60}};
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Ask(database, "critical-path", "path"),
            (Lines{"0|10|host calls|hipMalloc", "10|10|outside HIP|", "60|50|outside HIP|",
                   "110|10|host calls|hipFree"}));
}

}  // namespace
}  // namespace rochound::analysis
