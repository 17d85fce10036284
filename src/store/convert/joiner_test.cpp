// SPDX-License-Identifier: MIT
//
// What the joiner joins, where several ways to join it are at hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/convert/allocation_pairs.h"
#include "store/convert/filter.h"
#include "store/convert/test_conversion.h"
#include "store/convert/test_log.h"

namespace rochound::store {
namespace {

// A thread of the runtime's may submit after the call has returned.
TEST_F(Conversion, WorkThatIsRecordedAfterItsCallBelongsToIt) {
  TestLog log(run());
  log.Queue(1, 1);
  log.Kernel(1, "k");
  auto* thread = log.NewThread();
  const uint64_t launch = thread->NextCorrelation();
  log.Call(thread, TestLog::kLaunch, 2'000'000, 2'000'100, launch);
  log.Dispatch(thread, launch, 1, 0, 1, 2'000'200);
  log.Time(1, 0, 1, 2'000'300, 2'000'400);
  log.Finish();
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT apiName FROM rocpd_api_ops l JOIN api ON api.id = l.api_id"),
            Rows{"hipLaunchKernel"});
}

// Calls nest 32 deep at most: a record that has not come by then was lost.
TEST_F(Conversion, WorkWhoseCallWasLostHasNone) {
  TestLog log(run());
  log.Queue(1, 1);
  log.Kernel(1, "k");
  auto* const thread = log.NewThread();
  std::vector<uint64_t> calls;
  for (uint32_t i = 0; i < 33; ++i) {
    log.Dispatch(thread, calls.emplace_back(thread->NextCorrelation()), 1, i, 1, 2'000'000 + i);
    log.Time(1, i, 1, 2'000'100 + i, 2'000'101 + i);
  }
  for (const uint64_t call : calls) log.Call(thread, TestLog::kLaunch, 1'900'000, 2'000'050, call);
  log.Finish();
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT count(*), min(op_id) FROM rocpd_api_ops"), Rows{"32|2"});
  EXPECT_EQ(Ask("SELECT what, count FROM rochound_lost"), Rows{"calls|1"});
}

TEST_F(Conversion, APopWhosePushIsNotThereClosesNothing) {
  TestLog log(run());
  auto* const thread = log.NewThread();
  log.Range(thread, trace::RangeKind::kPush, "epoch", 2'000'000, 0);
  log.Range(thread, trace::RangeKind::kPop, "", 2'000'100, 1);
  log.Range(thread, trace::RangeKind::kPop, "", 2'000'200, 0);
  log.Finish();
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT args, start, end FROM api WHERE domain = 'roctx'"),
            Rows{"epoch|2000000|2000200"});
}

// The process ended before the recorder had its times, but the host had waited for it.
TEST_F(Conversion, WhatTheHostHasWaitedForHasEnded) {
  TestLog log(run());
  log.Queue(1, 1);
  log.Kernel(1, "waited");
  log.Kernel(2, "later");
  auto* thread = log.NewThread();
  const uint64_t launch = thread->NextCorrelation();
  log.Dispatch(thread, launch, 1, 0, 1, 2'000'000);
  log.Call(thread, TestLog::kLaunch, 1'999'990, 2'000'050, launch);
  log.Call(thread, TestLog::kSynchronize, 2'000'100, 2'000'500, thread->NextCorrelation());
  log.Dispatch(thread, 0, 1, 1, 2, 2'000'600);
  // This one failed: it shows nothing.
  log.Call(thread, TestLog::kSynchronize, 2'000'700, 2'000'800, thread->NextCorrelation(), {}, 1);
  log.Range(thread, trace::RangeKind::kMark, "last seen", 9'000'000);
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT kernelName, start, end FROM kernel ORDER BY id"),
            (Rows{"waited|2000000|2000500", "later|2000600|9000000"}));
  EXPECT_EQ(Ask("SELECT s.string FROM rochound_unfinished u JOIN rocpd_op o ON o.id = u.id "
                "JOIN rocpd_string s ON s.id = o.description_id"),
            Rows{"later"});
}

TEST_F(Conversion, ACopyToTheHostShowsWhatHadEndedInItsStream) {
  for (const uint64_t kind : {1, 2}) {
    TestLog log(run());
    log.Queue(1, 1);
    log.Kernel(1, kind == 2 ? "to host" : "to GPU");
    auto* const thread = log.NewThread();
    for (const uint64_t stream : {0x0, 0x51}) {
      const uint64_t launch = thread->NextCorrelation();
      log.Dispatch(thread, launch, 1, stream, 1, 2'000'000);
      log.Call(thread, TestLog::kLaunch, 1, 2'000'050, launch, {1, 1, 1, 1, 1, 0, 0, stream});
    }
    log.Call(thread, TestLog::kMemcpy, 2'000'100, 2'000'500, thread->NextCorrelation(),
             {0x5000, 0xd000, 4, kind});
    log.SetClocks();
  }
  Convert();
  EXPECT_EQ(Ask("SELECT s.string, o.sequenceId FROM rochound_unfinished u JOIN rocpd_op o "
                "ON o.id = u.id JOIN rocpd_string s ON s.id = o.description_id ORDER BY 1, 2"),
            (Rows{"to GPU|0", "to GPU|81", "to host|81"}));
}

TEST_F(Conversion, ACallLaunchesTheProgramsKernelNotTheRuntimes) {
  TestLog log(run());
  log.Queue(1, 1);
  log.Kernel(1, "__amd_rocclr_fillBufferAligned");
  log.Kernel(2, "mine");
  auto* thread = log.NewThread();
  const uint64_t launch = thread->NextCorrelation();
  for (uint32_t i = 0; i < 2; ++i) {
    log.Dispatch(thread, launch, 1, i, i + 1, 2'000'010 + i);
    log.Time(1, i, 1, 2'000'100 + 10 * i, 2'000'105 + 10 * i);
  }
  log.Call(thread, TestLog::kLaunch, 2'000'000, 2'000'100, launch);
  log.Finish();
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT s.string FROM rocpd_kernelapi JOIN rocpd_string s ON s.id = kernelName_id"),
            Rows{"mine"});
}

// A library's code object has thousands of kernels, of which a program launches a few.
TEST_F(Conversion, OnlyKernelsThatWereLaunchedAreKept) {
  TestLog log(run());
  log.Queue(1, 1);
  log.Kernel(1, "loaded");
  log.Kernel(2, "launched");
  auto* thread = log.NewThread();
  log.Dispatch(thread, 0, 1, 0, 2, 2'000'010);
  log.Time(1, 0, 1, 2'000'100, 2'000'105);
  log.Finish();
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT s.string FROM rochound_kernel JOIN rocpd_string s ON s.id = name_id"),
            Rows{"launched"});
  EXPECT_EQ(Ask("SELECT count(*) FROM rocpd_string WHERE string = 'loaded'"), Rows{"0"});
}

TEST_F(Conversion, AFilterOfKernelsLeavesTheRuntimes) {
  TestLog log(run());
  log.Queue(1, 1);
  log.Kernel(1, "__amd_rocclr_fillBufferAligned");
  log.Kernel(2, "other");
  auto* thread = log.NewThread();
  for (uint32_t i = 0; i < 2; ++i) {
    log.Dispatch(thread, 0, 1, i, i + 1, 2'000'010 + i);
    log.Time(1, i, 1, 2'000'100 + 10 * i, 2'000'105 + 10 * i);
  }
  log.Finish();
  log.SetClocks();
  const auto filter = Filter::Create("^gemm", "");
  ASSERT_TRUE(filter.ok());
  ConversionOptions options;
  options.filter = &filter.value();
  Convert(options);
  EXPECT_EQ(Ask("SELECT opType FROM op"), Rows{"FillBuffer"});
  EXPECT_EQ(Ask("SELECT what, count FROM rochound_lost"), Rows{"kernels left out|1"});
}

// A copy that the host does itself is on the device that the thread chose.
TEST_F(Conversion, ADeviceThatWasRefusedIsNotChosen) {
  TestLog log(run());
  auto* thread = log.NewThread();
  const auto call = [&](TestLog::Function function, uint64_t begin,
                        const std::vector<uint64_t>& words, uint32_t result = 0) {
    log.Call(thread, function, begin, begin + 5, thread->NextCorrelation(), words, result);
  };
  call(TestLog::kSetDevice, 2'000'000, {1});
  call(TestLog::kSetDevice, 2'000'010, {7}, 101);
  call(TestLog::kMemcpy, 2'000'020, {0xd000, 0x5000, 16, 1});
  log.Finish();
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT dstDevice, srcDevice FROM copy"), Rows{"1|-1"});
}

// Bytes of the call that an engine did not copy are the kernels', whose arguments told nothing.
TEST_F(Conversion, KernelsThatCopyShareWhatIsLeft) {
  TestLog log(run());
  log.Kernel(1, "__amd_rocclr_copyBuffer");
  log.Queue(1, 1);
  auto* thread = log.NewThread();
  const uint64_t copy = thread->NextCorrelation();
  log.Copy(thread, copy, 1, trace::CopyKind::kCopy, 0, 1, 400, 2'000'000);
  log.CopyTime(1, 1, 2'000'010, 2'000'020);
  for (uint64_t i = 0; i < 3; ++i) {
    log.Dispatch(thread, copy, 1, i, 1, 2'000'030 + i);
    log.Time(1, i, 1, 2'000'100 + 10 * i, 2'000'105 + 10 * i);
  }
  log.Call(thread, TestLog::kMemcpy, 2'000'000, 2'000'500, copy, {0xd000, 0x5000, 1000, 1});
  log.Finish();
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT c.size, c.sourceAgent, c.destinationAgent FROM rochound_copy c JOIN "
                "rochound_dispatch d USING (op_id) ORDER BY op_id"),
            (Rows{"200|-1|1", "200|-1|1", "200|-1|1"}));
}

// What a kernel copies is told right before it; what was told of another one is not about it.
TEST_F(Conversion, AKernelCopiesWhatWasToldOfIt) {
  TestLog log(run());
  log.Kernel(1, "__amd_rocclr_copyBuffer");
  log.Queue(1, 1);
  auto* thread = log.NewThread();
  const uint64_t copy = thread->NextCorrelation();
  log.Copy(thread, copy, TestLog::Number(1, 99), trace::CopyKind::kByKernel, 1, 2, 5, 2'000'000);
  log.Dispatch(thread, copy, 1, 0, 1, 2'000'001);
  log.Time(1, 0, 1, 2'000'100, 2'000'105);
  log.Call(thread, TestLog::kMemcpy, 2'000'000, 2'000'500, copy, {0x5000, 0xd000, 77, 2});
  log.Finish();
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT size, sourceAgent, destinationAgent FROM rochound_copy"), Rows{"77|1|-1"});
}

TEST_F(Conversion, ACallsCopyIsItsFirst) {
  TestLog log(run());
  auto* thread = log.NewThread();
  const uint64_t copy = thread->NextCorrelation();
  for (uint16_t gpu = 1; gpu <= 2; ++gpu) {
    log.Copy(thread, copy, gpu, trace::CopyKind::kCopy, 0, gpu, 500, 2'000'000);
    log.CopyTime(gpu, gpu, 2'000'010, 2'000'020);
  }
  log.Call(thread, TestLog::kMemcpy, 2'000'000, 2'000'500, copy, {0xd000, 0x5000, 1000, 1});
  log.Finish();
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT dstDevice, srcDevice FROM copy"), Rows{"0|-1"});
}

// Clocks differ by up to a second.
TEST_F(Conversion, TimesLongAfterTheEndAreDoubtful) {
  constexpr uint64_t kEnd = 10'000'000'000;
  TestLog log(run());
  log.Queue(1, 1);
  log.Kernel(1, "k");
  auto* thread = log.NewThread();
  for (uint64_t i = 0; i < 2; ++i) log.Dispatch(thread, 0, 1, i, 1, 5'000'000'000);
  log.Time(1, 0, 1, 5'000'000'000, kEnd + 900'000'000);
  log.Time(1, 1, 1, 5'000'000'000, kEnd + 1'500'000'000);
  log.Range(thread, trace::RangeKind::kMark, "last seen", kEnd);
  log.SetClocks();  // and no Finish
  const Summary summary = Convert();
  EXPECT_EQ(Ask("SELECT count FROM rochound_lost WHERE what = 'true times'"), Rows{"1"});
  EXPECT_EQ(summary.end, static_cast<int64_t>(kEnd + 900'000'000));
}

// A kernel with the barrier bit cannot have started while the one before it runs.
TEST_F(Conversion, AKernelThatWaitsForAHangHasNotStarted) {
  TestLog log(run());
  log.Queue(1, 1);
  log.Kernel(1, "spin");
  auto* thread = log.NewThread();
  log.Dispatch(thread, 0, 1, 0, 1, 2'000'000);
  log.Put<trace::KernelDispatch>(thread, 1 << 8, 1, [](auto& record) {
    record.correlation = 0;
    record.dispatch = TestLog::Number(1, 1);
    record.submit_tsc = 2'000'001;
    record.kernel = 1;
  });
  log.Range(thread, trace::RangeKind::kMark, "last seen", 9'000'000);
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT start, end FROM op ORDER BY id"),
            (Rows{"2000000|9000000", "9000000|9000000"}));
}

TEST_F(Conversion, AKernelWithoutATimeIsShownWhereItWasSubmitted) {
  TestLog log(run());
  log.Queue(1, 1);
  log.Kernel(1, "k");
  auto* thread = log.NewThread();
  log.Dispatch(thread, 0, 1, 0, 1, 2'000'000);
  log.Time(1, 0, 1, 0, 0);  // it ended, and nobody knows when
  log.Finish();
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT start, end FROM op"), Rows{"2000000|2000000"});
  EXPECT_EQ(Ask("SELECT what, count FROM rochound_lost"), Rows{"kernel times|1"});
}

// A run of several hosts on one file system.
TEST_F(Conversion, GpusOfTwoHostsAreTwo) {
  for (const char* host : {"a", "b"}) {
    TestLog log(run());
    log.writer()->WriteText("info", fmt::format("host={}\nagent=0,1,gpu,gfx942,MI300X,\n", host));
    log.Queue(1, 0);
    log.Kernel(1, host);
    log.Dispatch(log.NewThread(), 0, 1, 1, 1, 2'000'000);
    log.Finish();
    log.SetClocks();
  }
  Convert();
  EXPECT_EQ(Ask("SELECT count(DISTINCT gpuId) FROM op"), Rows{"2"});
}

TEST_F(Conversion, SaysWhyThingsAreMissing) {
  TestLog log(run());
  log.Queue(1, 1);
  log.Kernel(1, "k");
  log.Dispatch(log.NewThread(), 0, 1, 0, 1, 2'000'000);
  log.Time(1, 0, 1, 0, 0);
  log.writer()->CountDropped(trace::DropReason::kNotSeen, 3);
  log.writer()->CountDropped(trace::DropReason::kRecycled, 1);
  log.Finish();
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT count, note FROM rochound_lost WHERE what = 'records dropped'"),
            Rows{"3|packets were submitted and not seen in their queue"});
  EXPECT_EQ(Ask("SELECT note FROM rochound_lost WHERE what = 'kernel times'"),
            Rows{"shown at the time they were submitted at; older data was not kept, as asked"});
}

// The release of the first was lost, and times decide.
TEST(AllocationPairs, AReleaseEndsTheLatestAllocationBeforeIt) {
  AllocationPairs pairs;
  trace::Allocation record{};
  record.address = 0xa000;
  for (const uint64_t begin : {100, 300, 500}) EXPECT_FALSE(pairs.Allocate(record, begin));
  ASSERT_TRUE(pairs.Release(0xa000, 400));
  EXPECT_EQ(pairs.allocation.begin_ns, 300u);
  EXPECT_EQ(pairs.end_ns, 400u);
  ASSERT_TRUE(pairs.Release(0xa000, 600));
  EXPECT_EQ(pairs.allocation.begin_ns, 500u);
  EXPECT_FALSE(pairs.Release(0xa000, 50)) << "none had begun";
  ASSERT_EQ(pairs.Live().size(), 1u);
  EXPECT_EQ(pairs.Live()[0].begin_ns, 100u);
}

}  // namespace
}  // namespace rochound::store
