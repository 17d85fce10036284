// SPDX-License-Identifier: MIT
//
// From a flight log to rows: small logs with every kind of event, and what must be true of any log.

#include "store/convert/conversion.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/files.h"
#include "store/convert/test_conversion.h"
#include "store/convert/test_log.h"
#include "store/rpd/database.h"

namespace rochound::store {
namespace {

TEST_F(Conversion, OfASmallProgram) {
  TestLog log(run());
  log.Kernel(1, "_Z3addPfS_i");
  log.Kernel(2, "__amd_rocclr_fillBufferAligned");
  log.Queue(1, 1);
  auto* thread = log.NewThread();
  const auto next = [&] { return thread->NextCorrelation(); };

  const uint64_t outer = next();
  log.Range(thread, trace::RangeKind::kPush, "step", 2'000'000);
  log.Call(thread, TestLog::kMalloc, 2'000'100, 2'000'200, outer, {0x7ffd, 0xd000, 4096});
  log.Put<trace::Allocation>(thread, 1, 5, [](auto& record) {
    record.address = 0xd000;
    record.bytes = 4096;
    record.now_tsc = 2'000'150;
  });
  const uint64_t copy = next();
  log.Copy(thread, copy, 1, trace::CopyKind::kCopy, 0, 1, 4096, 2'000'350);
  log.CopyTime(1, 1, 2'000'400, 2'000'600);
  log.Call(thread, TestLog::kMemcpy, 2'000'300, 2'000'700, copy, {0xd000, 0x5000, 4096, 1});
  const uint64_t launch = next();
  log.Dispatch(thread, launch, 1, 5, 1, 2'000'850);
  log.Call(thread, TestLog::kLaunch, 2'000'800, 2'000'900, launch,
           {0xf0, 4ull | 2ull << 32, 1, 64ull | 1ull << 32, 1, 0xa0, 512, 0xbeef});
  log.Time(1, 5, 1, 2'001'000, 2'005'000);
  log.Dispatch(thread, 0, 1, 6, 2, 2'006'000);  // the runtime's own, from a thread of its own
  log.Time(1, 6, 1, 2'006'100, 2'006'200);
  log.Call(thread, TestLog::kSynchronize, 2'001'000, 2'007'000, next());
  log.Range(thread, trace::RangeKind::kMark, "half | time", 2'007'500);
  log.Put<trace::Release>(thread, 0, 0, [](auto& record) {
    record.address = 0xd000;
    record.now_tsc = 2'008'000;
    record.correlation = 0;
  });
  log.Range(thread, trace::RangeKind::kPop, "", 2'009'000);
  log.Finish();
  log.SetClocks();
  const Summary summary = Convert({.command = "example --fast"});

  const std::string launch_row =
      "2000800|2000900|hip|launch|hipLaunchKernel|function=0xf0|numBlocks={4,2,1}|"
      "dimBlocks={64,1,1}|args=0xa0|sharedMemBytes=512|stream=0xbeef";
  EXPECT_EQ(Ask("SELECT start, end, domain, category, apiName, args FROM api"),
            (Rows{"2000100|2000200|hip|memory|hipMalloc|ptr=0x7ffd|*ptr=0xd000|size=4096",
                  "2000300|2000700|hip|copy|hipMemcpy|dst=0xd000|src=0x5000|sizeBytes=4096|kind=1",
                  launch_row, "2001000|2007000|hip|synchronize|hipDeviceSynchronize|",
                  "2007500|2007500|roctx|mark|UserMarker|half | time",
                  "2000000|2009000|roctx|range|UserMarker|step"}));
  EXPECT_EQ(Ask("SELECT gpuId, queueId, sequenceId, start, end, description, opType FROM op"),
            (Rows{"0|0|1|2000400|2000600||CopyHostToDevice",
                  "0|1|5|2001000|2005000|add(float*, float*, int)|KernelExecution",
                  "0|1|6|2006100|2006200|__amd_rocclr_fillBufferAligned|FillBuffer"}));
  EXPECT_EQ(Ask("SELECT apiName, opType FROM rocpd_api_ops l JOIN api ON api.id = l.api_id JOIN op "
                "ON op.id = l.op_id"),
            (Rows{"hipMemcpy|CopyHostToDevice", "hipLaunchKernel|KernelExecution"}));
  EXPECT_EQ(Ask("SELECT gpuId, queueId, sequenceId, duration, stream, gridX, gridY, gridz, "
                "workgroupX, groupSegmentSize, privateSegmentSize, kernelName FROM kernel"),
            Rows{"0|1|5|4000|0xbeef|256|2|1|64|512|16|add(float*, float*, int)"});
  EXPECT_EQ(Ask("SELECT stream, gridX, s.string FROM rocpd_kernelapi JOIN rocpd_string s ON s.id = "
                "kernelName_id"),
            Rows{"0xbeef|256|add(float*, float*, int)"});
  EXPECT_EQ(
      Ask("SELECT apiName, stream, size, kind, dst, src, dstDevice, srcDevice, sync FROM copy"),
      Rows{"hipMemcpy||4096|1|0xd000|0x5000|0|-1|1"});
  EXPECT_EQ(Ask("SELECT Name, TotalCalls FROM top"),
            (Rows{"add(float*, float*, int)|1", "CopyHostToDevice|1",
                  "__amd_rocclr_fillBufferAligned|1"}));
  EXPECT_EQ(Ask("SELECT agent, address, size, flags, start, end FROM rochound_allocation"),
            Rows{fmt::format("1|{}|4096|5|2000150|2008000", 0xd000)});
  EXPECT_EQ(
      Ask("SELECT size, sourceAgent, destinationAgent, source, destination, submit, timed FROM "
          "rochound_copy"),
      Rows{fmt::format("4096|0|1|{}|{}|2000350|1", 0x5000, 0xd000)});
  EXPECT_EQ(Ask("SELECT api_id, gridX, queueId, agent, submit, timed FROM rochound_dispatch"),
            (Rows{"3|256|1|1|2000850|1", "|256|1|1|2006000|1"}));
  EXPECT_EQ(Ask("SELECT session, ppid, executable, command, host, calls, dispatches, copies, note "
                "FROM rochound_process"),
            Rows{"0|42|/usr/bin/example|example --fast|somewhere|4|2|1|"});
  EXPECT_EQ(Ask("SELECT agent, type, name, gpuId FROM rochound_agent"),
            (Rows{"0|cpu|CPU|", "1|gpu|gfx942|0", "2|gpu|gfx942|1"}));
  EXPECT_EQ(Ask("SELECT queueId, agent, packets FROM rochound_queue"), Rows{"1|1|16384"});
  EXPECT_EQ(Ask("SELECT * FROM rochound_lost"), Rows{});
  EXPECT_EQ(Ask("SELECT value FROM rocpd_metadata WHERE tag LIKE 'rochound%' OR tag = "
                "'session_count' ORDER BY tag"),
            (Rows{"example --fast", std::to_string(TestLog::kRealtime), "1"}));

  EXPECT_EQ(summary.calls, 4u);
  EXPECT_EQ(summary.kernels, 1u);
  EXPECT_EQ(summary.runtime_kernels, 1u);
  EXPECT_EQ(summary.copies, 1u);
  EXPECT_EQ(summary.copied_bytes, 4096u);
  EXPECT_EQ(summary.ranges, 2u);
  EXPECT_EQ(summary.lost.size(), 0u);
  EXPECT_EQ(summary.start, 2'000'000);
  EXPECT_EQ(summary.end, 2'009'000);
  EXPECT_EQ(summary.kernels_by_name.at("add(float*, float*, int)").ns, 4000);
  EXPECT_EQ(summary.calls_by_name.at("hipMemcpy").ns, 400);
}

// A copy is the call's copy, whichever engine did it.
TEST_F(Conversion, KernelsThatCopyAreCopies) {
  TestLog log(run());
  log.Kernel(1, "__amd_rocclr_copyBuffer");
  log.Kernel(2, "__amd_rocclr_copyBufferRectAligned");
  log.Queue(1, 1);
  auto* thread = log.NewThread();
  // To the GPU, in two pieces whose arguments were read.
  const uint64_t pieces = thread->NextCorrelation();
  for (uint64_t i = 0; i < 2; ++i) {
    log.Copy(thread, pieces, TestLog::Number(1, i), trace::CopyKind::kByKernel, 0, 1, 300 + 400 * i,
             2'000'000 + i);
    log.Dispatch(thread, pieces, 1, i, 1, 2'000'000 + i);
    log.Time(1, i, 1, 2'001'000 + 100 * i, 2'001'050 + 100 * i);
  }
  log.Call(thread, TestLog::kMemcpy, 2'000'000, 2'002'000, pieces, {0xd000, 0x5000, 1000, 1});
  // From the GPU; nothing is known but the call.
  const uint64_t untold = thread->NextCorrelation();
  log.Dispatch(thread, untold, 1, 2, 2, 2'003'000);
  log.Time(1, 2, 1, 2'003'100, 2'003'200);
  log.Call(thread, TestLog::kMemcpy, 2'003'000, 2'004'000, untold, {0x5000, 0xd000, 77, 2});
  // Of a graph, from one GPU to the other.
  const uint64_t graph = thread->NextCorrelation();
  log.Copy(thread, graph, TestLog::Number(1, 3), trace::CopyKind::kByKernel, 1, 2, 64, 2'005'000);
  log.Dispatch(thread, graph, 1, 3, 1, 2'005'000);
  log.Time(1, 3, 1, 2'005'100, 2'005'200);
  log.Call(thread, TestLog::kGraphLaunch, 2'005'000, 2'006'000, graph, {0x77, 0});
  log.Finish();
  log.SetClocks();
  const Summary summary = Convert();
  EXPECT_EQ(Ask("SELECT opType, c.size, c.sourceAgent, c.destinationAgent, c.timed, d.queueId FROM "
                "op JOIN rochound_copy c ON c.op_id = op.id JOIN rochound_dispatch d USING (op_id) "
                "ORDER BY op.id"),
            (Rows{"CopyHostToDevice|300|0|1|1|1", "CopyHostToDevice|700|0|1|1|1",
                  "CopyDeviceToHost|77|1|-1|1|1", "CopyDeviceToDevice|64|1|2|1|1"}));
  EXPECT_EQ(Ask("SELECT size, kind, dstDevice, srcDevice FROM copy"),
            (Rows{"1000|1|0|-1", "77|2|-1|0"}));
  EXPECT_EQ(summary.copies, 4u);
  EXPECT_EQ(summary.copied_bytes, 1141u);
  EXPECT_EQ(summary.runtime_kernels, 4u);
}

TEST_F(Conversion, KeepsEveryKernelOfAGraph) {
  constexpr int kNodes = 1000, kLaunches = 50;
  TestLog log(run());
  log.Queue(1, 1);
  for (uint32_t id = 1; id <= kNodes; ++id) log.Kernel(id, fmt::format("node_{}", id));
  auto* thread = log.NewThread();
  uint64_t packet = 0, now = 2'000'000;
  for (int launch = 0; launch < kLaunches; ++launch) {
    const uint64_t correlation = thread->NextCorrelation();
    const uint64_t begin = now;
    for (uint32_t id = 1; id <= kNodes; ++id) {
      log.Dispatch(thread, correlation, 1, packet, id, now += 10);
      // Half of them end before the call that launched them.
      if (id % 2 == 0) log.Time(1, packet, 1, now, now + 5);
      ++packet;
    }
    log.Call(thread, TestLog::kGraphLaunch, begin, now, correlation, {0x91, 0x5});
    for (uint64_t odd = packet - kNodes; odd < packet; odd += 2) log.Time(1, odd, 1, now, now + 7);
  }
  log.Finish();
  log.SetClocks();
  const Summary summary = Convert();
  EXPECT_EQ(summary.kernels, 50'000u);
  EXPECT_EQ(summary.lost.size(), 0u);
  EXPECT_EQ(
      Ask("SELECT count(*), count(DISTINCT kernelName), count(DISTINCT sequenceId) FROM kernel "
          "WHERE stream = '0x5'"),
      Rows{"50000|1000|50000"});
  EXPECT_EQ(
      Ask("SELECT min(n), max(n), count(*) FROM (SELECT count(*) AS n FROM rocpd_api_ops GROUP "
          "BY api_id)"),
      Rows{"1000|1000|50"});
  EXPECT_EQ(Ask("SELECT s.string, count(*) FROM rocpd_kernelapi JOIN rocpd_string s ON s.id = "
                "kernelName_id GROUP BY 1"),
            Rows{"node_1|50"});
  EXPECT_EQ(Ask("SELECT count(*) FROM kernel WHERE kernelName = 'node_77' AND duration = 7"),
            Rows{"50"});
  EXPECT_EQ(Ask("SELECT TotalCalls FROM top WHERE Name = 'node_78'"), Rows{"50"});
}

TEST_F(Conversion, FindsTimesThatComeBeforeTheirDispatch) {
  // Small chunks, so that the drain thread's chunk with the times comes first.
  TestLog log(run(), {.chunk_bytes = 4096});
  log.Queue(1, 2);
  log.Kernel(1, "k");
  for (uint64_t i = 0; i < 500; ++i) log.Time(1, i, 2, 5'000'000 + i, 5'000'500 + i);
  auto* thread = log.NewThread();
  for (uint64_t i = 0; i < 500; ++i) {
    const uint64_t correlation = thread->NextCorrelation();
    log.Dispatch(thread, correlation, 1, i, 1, 4'000'000 + i);
    log.Call(thread, TestLog::kLaunch, 4'000'000 + i, 4'000'001 + i, correlation);
  }
  log.Finish();
  log.SetClocks();
  EXPECT_EQ(Convert().lost.size(), 0u);
  EXPECT_EQ(Ask("SELECT count(*), sum(duration), min(start - sequenceId), max(start - sequenceId), "
                "min(gpuId) FROM kernel"),
            Rows{"500|250000|5000000|5000000|1"});
}

TEST_F(Conversion, TellsWhatAKilledProcessLeft) {
  TestLog log(run());
  log.Queue(1, 1);
  log.Kernel(1, "k");
  auto* thread = log.NewThread();
  const uint64_t first = thread->NextCorrelation();
  log.Dispatch(thread, first, 1, 0, 1, 2'000'050);
  log.Call(thread, TestLog::kLaunch, 2'000'000, 2'000'100, first);
  log.Range(thread, trace::RangeKind::kPush, "never popped", 2'000'200);
  const uint64_t second = thread->NextCorrelation();
  thread->OpenCall(TestLog::kSynchronize, 2'000'300, second);
  log.Copy(thread, second, 9, trace::CopyKind::kFill, trace::kNoAgent, 1, 64, 2'000'400);
  log.SetClocks();  // and no Finish
  const Summary summary = Convert();

  EXPECT_EQ(Ask("SELECT start, end, apiName, args FROM api WHERE domain = 'hip'"),
            (Rows{"2000000|2000100|hipLaunchKernel|",
                  "2000300|2000400|hipDeviceSynchronize|not returned"}));
  EXPECT_EQ(Ask("SELECT start, end, opType FROM op ORDER BY start"),
            (Rows{"2000050|2000400|KernelExecution", "2000400|2000400|FillBuffer"}));
  EXPECT_EQ(Ask("SELECT what FROM rochound_unfinished ORDER BY what"),
            (Rows{"call", "copy", "kernel", "range"}));
  EXPECT_EQ(Ask("SELECT timed, agent, api_id FROM rochound_dispatch"), Rows{"0|1|1"});
  EXPECT_EQ(Ask("SELECT timed, api_id FROM rochound_copy"), Rows{"0|2"});
  EXPECT_EQ(Ask("SELECT args, end >= 2000400 FROM api WHERE domain = 'roctx'"),
            Rows{"never popped|1"});
  EXPECT_EQ(Ask("SELECT what, count FROM rochound_lost ORDER BY what"),
            (Rows{"a process's end|1", "call in flight|1", "copies' ends|1", "kernels' ends|1",
                  "ranges' ends|1"}));
  EXPECT_EQ(summary.lost.size(), 5u);
  EXPECT_EQ(summary.running, 1u);
  // This very process wrote it, and lives.
  EXPECT_EQ(Ask("SELECT note FROM rochound_process"), Rows{"still running"});
}

TEST_F(Conversion, TellsWhatWasDropped) {
  TestLog log(run());
  log.writer()->CountDropped(trace::DropReason::kNoSignal, 5);
  log.writer()->CountDropped(trace::DropReason::kNoChunk, 7);
  log.writer()->CountDropped(trace::DropReason::kRecycled, 100);  // was asked for: not lost
  log.Finish();
  log.SetClocks();
  EXPECT_EQ(Convert().lost.size(), 2u);
  EXPECT_EQ(Ask("SELECT sum(count) FROM rochound_lost WHERE what = 'records dropped'"), Rows{"12"});
}

TEST_F(Conversion, TellsOfTimesThatCannotBe) {
  TestLog log(run());
  log.Queue(1, 1);
  log.Kernel(1, "k");
  auto* thread = log.NewThread();
  for (uint64_t i = 0; i < 3; ++i) log.Dispatch(thread, 0, 1, i, 1, 5'000'000'000);
  log.Time(1, 0, 1, 5'000'000'000, 5'000'000'100);
  constexpr uint64_t kNextYear = 30'000'000'000'000'000;
  log.Time(1, 1, 1, kNextYear, kNextYear + 100);
  log.Time(1, 2, 1, 5'000'000'000, kNextYear);
  log.Finish();
  log.SetClocks();
  const Summary summary = Convert();
  EXPECT_EQ(Ask("SELECT what, count FROM rochound_lost"), Rows{"true times|2"});
  EXPECT_EQ(summary.end, 5'000'000'100);
}

TEST_F(Conversion, ReleasesCallsThatNeverCame) {
  TestLog log(run());
  log.Queue(1, 1);
  log.Kernel(1, "k");
  auto* thread = log.NewThread();
  for (uint64_t i = 0; i < 1000; ++i) {
    log.Dispatch(thread, thread->NextCorrelation(), 1, i, 1, 2'000'000 + i);
    log.Time(1, i, 1, 2'000'000 + i, 2'000'001 + i);
  }
  log.Finish();
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT count(*) FROM kernel"), Rows{"1000"});
  EXPECT_EQ(Ask("SELECT count(*) FROM rocpd_api_ops"), Rows{"0"});
  EXPECT_EQ(Ask("SELECT what, count FROM rochound_lost"), Rows{"calls|1000"});
}

TEST_F(Conversion, PairsAllocationsAcrossThreads) {
  TestLog log(run());
  // Chunks come in the order they were taken: the releasing thread's first.
  auto* releases = log.NewThread();
  auto* allocates = log.NewThread();
  const auto release = [&](uint64_t now) {
    log.Put<trace::Release>(releases, 0, 0, [&](auto& record) {
      record.address = 0xa000;
      record.now_tsc = now;
      record.correlation = 0;
    });
  };
  const auto allocate = [&](uint64_t now) {
    log.Put<trace::Allocation>(allocates, 1, 0, [&](auto& record) {
      record.address = 0xa000;
      record.bytes = now;
      record.now_tsc = now;
    });
  };
  release(2'000'010);  // allocated before the recording
  for (uint64_t i = 1; i <= 3; ++i) {
    release(2'000'000 + 100 * i + 50);
    allocate(2'000'000 + 100 * i);
  }
  allocate(2'001'000);
  log.Finish();
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT start, end FROM rochound_allocation ORDER BY start"),
            (Rows{"2000100|2000150", "2000200|2000250", "2000300|2000350", "2001000|"}));
}

TEST_F(Conversion, WritesOnlyUtf8) {
  TestLog log(run());
  log.Kernel(1, "latin \xe9");
  log.Queue(1, 1);
  auto* thread = log.NewThread();
  log.Range(thread, trace::RangeKind::kPush, "caf\xe9 cr\xc3\xa8me", 2'000'000);
  log.Range(thread, trace::RangeKind::kPop, "", 2'000'100);
  log.Dispatch(thread, 0, 1, 1, 1, 2'000'000);
  log.Finish();
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT args FROM api WHERE domain = 'roctx'"),
            Rows{"caf\xef\xbf\xbd cr\xc3\xa8me"});
  EXPECT_EQ(Ask("SELECT kernelName FROM kernel"), Rows{"latin \xef\xbf\xbd"});
}

TEST_F(Conversion, PairsRangesAcrossThreads) {
  TestLog log(run());
  auto* stops = log.NewThread();
  auto* starts = log.NewThread();
  log.Range(stops, trace::RangeKind::kStop, "", 2'000'400, 2);
  log.Range(stops, trace::RangeKind::kPop, "", 2'000'450);  // pushed before the recording
  log.Range(starts, trace::RangeKind::kStart, "one", 2'000'100, 1);
  log.Range(starts, trace::RangeKind::kStart, "two", 2'000'200, 2);
  log.Range(starts, trace::RangeKind::kStop, "", 2'000'300, 1);
  log.Finish();
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT start, end, apiName, args FROM api ORDER BY start"),
            (Rows{"2000100|2000300|UserRange|one", "2000200|2000400|UserRange|two"}));
}

// The recorder pauses from 2'000'300 to 2'000'600.
TEST_F(Conversion, TellsOfPausesAndClosesRangesByTheirOwnPops) {
  TestLog log(run());
  auto* thread = log.NewThread();
  using trace::RangeKind;
  const auto state = [&](trace::RecorderState now, const char* why, uint64_t at) {
    log.Put<trace::StateChange>(thread, static_cast<uint16_t>(now), 0, [&](auto& record) {
      record.now_tsc = at;
      record.reason = *why != 0 ? log.writer()->Intern(why) : 0;
    });
  };
  state(trace::RecorderState::kRecording, "", 2'000'000);
  log.Range(thread, RangeKind::kPush, "epoch", 2'000'100, 0);
  log.Range(thread, RangeKind::kPush, "step 1", 2'000'110, 1);
  log.Range(thread, RangeKind::kPop, "", 2'000'190, 1);
  log.Range(thread, RangeKind::kPush, "step 2", 2'000'200, 1);
  state(trace::RecorderState::kArmed, "lunch", 2'000'300);
  state(trace::RecorderState::kRecording, "", 2'000'600);
  // The pops of steps 2 and 5 are not there: the one was not recorded, the other's push was not.
  log.Range(thread, RangeKind::kPush, "step 6", 2'000'700, 1);
  log.Range(thread, RangeKind::kPop, "", 2'000'800, 1);
  log.Range(thread, RangeKind::kPop, "", 2'000'900, 0);
  log.Finish();
  log.SetClocks();
  const Summary summary = Convert();
  EXPECT_EQ(Ask("SELECT start, end, args FROM api ORDER BY start"),
            (Rows{"2000100|2000900|epoch", "2000110|2000190|step 1", "2000200|2000300|step 2",
                  "2000700|2000800|step 6"}));
  EXPECT_EQ(Ask("SELECT what, args FROM rochound_unfinished u JOIN api ON api.id = u.id"),
            Rows{"range|step 2"});
  EXPECT_EQ(Ask("SELECT start, end, why FROM rochound_unrecorded"), Rows{"2000300|2000600|lunch"});
  EXPECT_EQ(Ask("SELECT what, count, note FROM rochound_lost WHERE what = 'time'"),
            Rows{"time|1|lunch"});
  ASSERT_EQ(summary.unrecorded.size(), 1u);
}

TEST_F(Conversion, EndsTheRangesOfAThreadWithIt) {
  TestLog log(run());
  auto* dies = log.NewThread();
  auto* lives = log.NewThread();
  log.Range(dies, trace::RangeKind::kPush, "left open", 2'000'100);
  log.Put<trace::ThreadEnd>(dies, 0, 0, [](auto& record) { record.now_tsc = 2'000'200; });
  log.Range(lives, trace::RangeKind::kPush, "also", 2'000'150);
  log.Range(lives, trace::RangeKind::kMark, "the end", 2'000'900);
  log.Finish();
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT start, end, args FROM api ORDER BY start"),
            (Rows{"2000100|2000200|left open", "2000150|2000900|also", "2000900|2000900|the end"}));
  EXPECT_EQ(Ask("SELECT count(*) FROM rochound_unfinished WHERE what = 'range'"), Rows{"2"});
}

// One kernel finishes, the next hangs, and another one waits after it.
TEST_F(Conversion, ShowsAHangToTheEnd) {
  TestLog log(run());
  log.Queue(1, 1);
  log.Kernel(1, "good");
  log.Kernel(2, "spin");
  auto* thread = log.NewThread();
  for (uint64_t i = 0; i < 3; ++i) {
    log.Dispatch(thread, 0, 1, i, i == 1 ? 2 : 1, 2'000'000 + i);
  }
  log.Time(1, 0, 1, 2'000'100, 2'000'200);
  log.Range(thread, trace::RangeKind::kMark, "last seen", 9'000'000);
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT kernelName, start, end FROM kernel ORDER BY id"),
            (Rows{"good|2000100|2000200", "spin|2000200|9000000", "good|2000200|9000000"}));
  EXPECT_EQ(Ask("SELECT count(*) FROM rochound_unfinished WHERE what = 'kernel'"), Rows{"2"});
}

TEST_F(Conversion, NumbersQueuesAcrossProcesses) {
  for (int i = 0; i < 3; ++i) {
    TestLog log(run());
    log.Queue(1, 1);
    log.Queue(2, 1);
    log.Kernel(1, "k");
    auto* thread = log.NewThread();
    log.Dispatch(thread, 0, 2, 1, 1, 2'000'000);
    log.Time(2, 1, 1, 2'000'100, 2'000'200);
    log.Copy(thread, 0, 1, trace::CopyKind::kCopy, 0, 1, 64, 2'000'400);
    log.CopyTime(1, 1, 2'000'400, 2'000'500);
    log.Finish();
    log.SetClocks();
  }
  Convert();
  EXPECT_EQ(Ask("SELECT queueId, opType, id >> 32 FROM op ORDER BY queueId"),
            (Rows{"0|CopyHostToDevice|0", "2|KernelExecution|0", "3|CopyHostToDevice|1",
                  "5|KernelExecution|1", "6|CopyHostToDevice|2", "8|KernelExecution|2"}));
  EXPECT_EQ(Ask("SELECT session, queueId FROM rochound_queue ORDER BY queueId"),
            (Rows{"0|1", "0|2", "1|4", "1|5", "2|7", "2|8"}));
  EXPECT_EQ(Ask("SELECT count(*) FROM rochound_dispatch JOIN rochound_queue USING (queueId)"),
            Rows{"3"});
}

TEST_F(Conversion, KeepsWhatAFilterNamesAndCountsTheRest) {
  TestLog log(run());
  log.Queue(1, 1);
  log.Kernel(1, "_Z4gemmPf");
  log.Kernel(2, "_Z3addPf");
  auto* thread = log.NewThread();
  for (uint64_t i = 0; i < 4; ++i) {
    const uint64_t correlation = thread->NextCorrelation();
    log.Dispatch(thread, correlation, 1, i, i == 0 ? 1 : 2, 2'000'000 + 10 * i);
    log.Time(1, i, 1, 2'000'001 + 10 * i, 2'000'003 + 10 * i);
    log.Call(thread, TestLog::kLaunch, 2'000'000 + 10 * i, 2'000'005 + 10 * i, correlation);
  }
  log.Call(thread, TestLog::kSynchronize, 2'000'100, 2'000'200, thread->NextCorrelation());
  log.Finish();
  log.SetClocks();
  const auto filter = Filter::Create("^gemm", "Launch");
  ASSERT_TRUE(filter.ok());
  auto opened = trace::RunLog::Open(run());
  ASSERT_TRUE(opened.ok());
  ConversionOptions options;
  options.rpd = rpd();
  options.filter = &filter.value();
  ASSERT_TRUE(ConvertRun(opened.value(), options).ok());
  EXPECT_EQ(Ask("SELECT kernelName FROM kernel"), Rows{"gemm(float*)"});
  EXPECT_EQ(Ask("SELECT apiName, count(*) FROM api GROUP BY 1"), Rows{"hipLaunchKernel|4"});
  EXPECT_EQ(Ask("SELECT what, count FROM rochound_lost ORDER BY what"),
            (Rows{"calls left out|1", "kernels left out|3"}));
  EXPECT_FALSE(Filter::Create("(", "").ok());
}

TEST_F(Conversion, NumbersGpusAcrossProcesses) {
  // Each process sees one GPU of two and calls it agent 0.
  for (const int node : {2, 1}) {
    TestLog log(run());
    log.writer()->WriteText(
        "info", fmt::format("host=h\nagent=0,{},gpu,gfx942,MI300X,GPU-{}\n", node, node));
    log.Queue(1, 0);
    log.Kernel(1, fmt::format("on_node_{}", node));
    auto* thread = log.NewThread();
    log.Dispatch(thread, 0, 1, 1, 1, 2'000'000);
    log.Finish();
    log.SetClocks();
  }
  EXPECT_EQ(Convert().processes, 2u);
  EXPECT_EQ(Ask("SELECT gpuId, kernelName FROM kernel ORDER BY gpuId"),
            (Rows{"0|on_node_1", "1|on_node_2"}));
  EXPECT_EQ(Ask("SELECT id >> 32, count(*) FROM rocpd_op GROUP BY 1"), (Rows{"0|1", "1|1"}));
  EXPECT_EQ(Ask("SELECT value FROM rocpd_metadata WHERE tag = 'session_count'"), Rows{"2"});
}

TEST_F(Conversion, SaysWhichFunctionsWereNewerThanTheRecorder) {
  TestLog log(run());
  log.writer()->WriteText(
      "info",
      "host=h\nhip_version=8.0.1\nhsa_version=2.0.0\n"
      "hip_new_calls=hipNewOne:3,hipNewer:0,hipNewest:12\n"
      "hsa_new_calls=hsa_new:1,:4,:0,:2\nnew_packets=type 9:1,vendor format 7:3\n"
      "unknown_doorbells=2\n");
  log.Finish();
  log.SetClocks();
  Convert();
  EXPECT_EQ(Ask("SELECT what, count, note FROM rochound_lost ORDER BY count"),
            (Rows{"doorbells|2|of queues that this rochound could not follow: their kernels are "
                  "not recorded",
                  "packets|4|of kinds newer than this rochound; work in them is not recorded: "
                  "vendor format 7 (3), type 9 (1)",
                  "calls|7|ROCr 2.0.0 is newer than this rochound: 3 functions are not recorded: "
                  "hsa_new (1 call), 2 without a name (6 calls)",
                  "calls|15|HIP 8.0.1 is newer than this rochound: 2 functions are not recorded: "
                  "hipNewest (12 calls), hipNewOne (3 calls)"}));
}

TEST_F(Conversion, SaysWhichProcessesWereNotRecorded) {
  ConversionOptions options;
  options.rpd = rpd();
  options.unrecorded = {{77, "process 77 used a GPU"}};
  ASSERT_TRUE(ConvertNothing("nobody loaded the agent", options).ok());
  EXPECT_EQ(Ask("SELECT pid, what, note FROM rochound_lost ORDER BY pid"),
            (Rows{"0|everything|nobody loaded the agent",
                  "77|unrecorded process|process 77 used a GPU"}));
}

TEST_F(Conversion, WritesJsonLines) {
  TestLog log(run());
  log.Queue(1, 2);
  log.Kernel(1, "k");
  auto* thread = log.NewThread();
  log.Call(thread, TestLog::kSetDevice, 2'000'000, 2'000'010, thread->NextCorrelation(), {1});
  log.Call(thread, TestLog::kMalloc, 2'000'100, 2'000'350, thread->NextCorrelation(),
           {0x7ffd, 0, 1ull << 40}, 2);
  log.Call(thread, TestLog::kStoreSignal, 2'000'400, 2'000'410, thread->NextCorrelation(),
           {0xabc, static_cast<uint64_t>(-1)});
  log.Finish();
  log.SetClocks();
  const auto path = dir_.path() / "calls.jsonl";
  TextOutput output = TextOutput::Open(path).value();
  Convert({.jsonl = &output});

  std::vector<nlohmann::json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1]["timestamp"], TestLog::kRealtime + 2'000'100);
  EXPECT_EQ(lines[1]["function"], "hipMalloc");
  EXPECT_EQ(lines[1]["arguments"],
            (nlohmann::json{{"ptr", "0x7ffd"}, {"*ptr", "0x0"}, {"size", 1ull << 40}}));
  EXPECT_EQ(lines[1]["result"], 2);
  EXPECT_EQ(lines[1]["pid"], getpid());
  EXPECT_EQ(lines[1]["thread"], gettid());
  EXPECT_EQ(lines[1]["device"], 1);
  EXPECT_EQ(lines[1]["duration"], 250);
  EXPECT_EQ(lines[2]["device"], nullptr);
  EXPECT_EQ(lines[2]["result"], nullptr);
  EXPECT_EQ(lines[2]["arguments"]["value"], -1);
}

TEST_F(Conversion, KeepsWhatFailedAndWhatTheProcessSaidOfItself) {
  TestLog log(run());
  log.writer()->WriteText("functions",
                          std::string(TestLog::kFunctions) + "9\thip\thipInit\t-\tflags:u32\n");
  log.writer()->WriteText("facts", "library=/lib/a.so\nlibrary=/lib/b.so\ncpu_ns=12\nnonsense\n");
  auto* thread = log.NewThread();
  log.Call(thread, 9, 2'000'000, 2'000'010, thread->NextCorrelation(), {0});
  log.Call(thread, TestLog::kSetDevice, 2'000'020, 2'000'030, thread->NextCorrelation(), {1});
  log.Call(thread, TestLog::kMalloc, 2'000'100, 2'000'350, thread->NextCorrelation(),
           {0x7ffd, 0, 1ull << 40}, 2);
  log.Call(thread, TestLog::kStoreSignal, 2'000'400, 2'000'410, thread->NextCorrelation(),
           {0xabc, 1}, 7);
  log.Finish();
  log.SetClocks();
  Convert({.rpd = rpd(), .status = "exit 0", .cpu_ns = 34});
  EXPECT_EQ(Ask("SELECT apiName, ifnull(result, 'unknown') FROM rochound_failure JOIN api ON "
                "api.id = api_id ORDER BY api_id"),
            (Rows{"hipInit|unknown", "hipMalloc|2"}));
  EXPECT_EQ(Ask("SELECT session, name, value FROM rochound_fact ORDER BY name, value"),
            (Rows{"0|cpu_ns|12", "0|library|/lib/a.so", "0|library|/lib/b.so"}));
  EXPECT_EQ(Ask("SELECT value FROM rocpd_metadata WHERE tag IN ('rochound_status', "
                "'rochound_cpu_ns') ORDER BY tag"),
            (Rows{"34", "exit 0"}));
}

TEST_F(Conversion, KeepsWhatBecameOfTheKernelCache) {
  TestLog log(run());
  for (const uint32_t id : {1, 2, 3}) log.Kernel(id, "_Z3addPf");
  const auto swap = [&](trace::SwapDecision decision, uint32_t candidate, const char* file,
                        const char* reason) {
    log.Put<trace::Swap>(log.drain(), static_cast<uint16_t>(decision), 1, [&](auto& record) {
      record.now_tsc = 2'000'000;
      record.candidate = candidate;
      record.file = log.writer()->Intern(file);
      record.reason = *reason == '\0' ? 0 : log.writer()->Intern(reason);
    });
  };
  swap(trace::SwapDecision::kRefused, 0, "a.hsaco", "it is too old");
  swap(trace::SwapDecision::kSwapped, 2, "b.hsaco", "");
  swap(trace::SwapDecision::kSwapped, 2, "b.hsaco", "");  // said again
  swap(trace::SwapDecision::kSwapped, 3, "b.hsaco", "");  // the file was written anew
  swap(trace::SwapDecision::kSampled, 3, "b.hsaco", "12-3-1");
  swap(trace::SwapDecision::kSampled, 3, "b.hsaco", "12-3-2");
  swap(trace::SwapDecision::kNotSampled, 3, "b.hsaco", "launch 4: no room");
  for (const uint32_t id : {1, 3, 3}) log.Dispatch(log.drain(), 0, 1, id, id, 2'100'000);
  log.Finish();
  log.SetClocks();
  ConversionOptions options;
  options.swap_comparisons["12-3-1"] = {kSwapDifferent, "launch 1: 1 element differs"};
  const Summary summary = Convert(options);
  EXPECT_EQ(summary.swapped, 2u);
  EXPECT_EQ(summary.swapped_launches, 2u);
  EXPECT_EQ(summary.refused_swaps, 1u);
  EXPECT_EQ(summary.equal_swaps, 0u);
  EXPECT_EQ(summary.different_swaps, 1u);
  EXPECT_EQ(summary.unverified_swaps, 2u);
  EXPECT_EQ(
      Ask("SELECT id, kernel_id, candidate_id, start, decision, file, reason FROM "
          "rochound_swap ORDER BY id"),
      (Rows{"1|1||2000000|refused|a.hsaco|it is too old", "2|1|2|2000000|swapped|b.hsaco|",
            "3|1|3|2000000|swapped|b.hsaco|",
            "4|1|3|2000000|different|b.hsaco|launch 1: 1 element differs",
            "5|1|3|2000000|not verified|b.hsaco|a launch was captured, and nobody compared it",
            "6|1|3|2000000|not verified|b.hsaco|launch 4: no room"}));
}

TEST_F(Conversion, WritesDurationLines) {
  TestLog log(run());
  log.Queue(1, 1);
  log.Kernel(1, "plain");
  log.Kernel(2, "_Z5scaleIfEvPT_S0_");
  log.Kernel(3, "__amd_rocclr_copyBuffer");
  auto* thread = log.NewThread();
  log.Copy(thread, 0, 1, trace::CopyKind::kCopy, 0, 1, 4096, 2'000'000);
  for (uint32_t i = 1; i <= 3; ++i) {
    log.Dispatch(thread, 0, 1, i, i, 2'000'000);
    log.Time(1, i, 1, 2'000'000 + i, 2'000'100 + i);
  }
  log.Finish();
  log.SetClocks();
  const auto path = dir_.path() / "durations.csv";
  TextOutput output = TextOutput::Open(path).value();
  Convert({.durations = &output});
  EXPECT_EQ(base::ReadFile(path).value(),
            "kernel,dispatch,startNs,endNs\n"
            "plain,1,2000001,2000101\n"
            "\"void scale<float>(float*, float)\",2,2000002,2000102\n");
}

TEST_F(Conversion, WritesStackFrames) {
  TestLog log(run());
  const std::string maps = base::ReadFile("/proc/self/maps").value();
  log.writer()->WriteText("maps", maps);
  auto* thread = log.NewThread();
  const uint64_t correlation = thread->NextCorrelation();
  log.Put<trace::StackFrames>(thread, 2, 0, [&](auto& record) {
    record.correlation = correlation;
    record.addresses[0] = reinterpret_cast<uint64_t>(&ConvertRun) + 1;
    record.addresses[1] = 0x123;
  });
  log.Call(thread, TestLog::kSynchronize, 2'000'000, 2'000'010, correlation);
  log.Finish();
  log.SetClocks();
  Convert();
  const Rows frames = Ask("SELECT * FROM stackframe");
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].find("1|hipDeviceSynchronize|0|rochound::store::ConvertRun("), 0u)
      << frames[0];
  EXPECT_EQ(frames[1], "1|hipDeviceSynchronize|1|0x123");
}

// Whatever a disk did to a log, the trace is a sound database and the conversion comes to its end.
TEST_F(Conversion, SurvivesDamage) {
  TestLog log(run());
  log.Queue(1, 1);
  for (uint32_t id = 1; id <= 5; ++id) log.Kernel(id, fmt::format("_Z{}k", id));
  auto* thread = log.NewThread();
  for (uint64_t i = 0; i < 200; ++i) {
    const uint64_t correlation = thread->NextCorrelation();
    log.Dispatch(thread, correlation, 1, i, static_cast<uint32_t>(i % 5) + 1, 2'000'000 + i);
    log.Copy(thread, correlation, i, trace::CopyKind::kCopy, 0, 1, 64, 2'000'000 + i);
    log.Call(thread, static_cast<uint16_t>(i % 9), 2'000'000 + i, 2'000'001 + i, correlation,
             {i, i, i, i, i, i, i, i});
    log.Time(1, i, 1, 2'000'000 + i, 2'000'001 + i);
    log.CopyTime(i, 1, 2'000'000 + i, 2'000'001 + i);
    log.Range(thread, static_cast<trace::RangeKind>(i % 6), "r", 2'000'000 + i, i);
    log.Put<trace::Allocation>(thread, 1, 0, [&](auto& record) {
      record.address = i % 7;
      record.bytes = i;
      record.now_tsc = 2'000'000 + i;
    });
    log.Put<trace::Release>(thread, 0, 0, [&](auto& record) {
      record.address = i % 7;
      record.now_tsc = 2'000'000 + i;
      record.correlation = 0;
    });
  }
  log.Finish();
  log.SetClocks();
  const std::filesystem::path file =
      std::filesystem::path(log.writer()->process_directory()) / "segment-000000";
  const std::string whole = base::ReadFile(file).value();
  const size_t records = std::min<size_t>(whole.size(), 100'000);
  std::mt19937_64 random(11);
  for (int round = 0; round < 30; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 40; ++i) {
      // Not the headers: a log that cannot be opened at all shows nothing here.
      const size_t at = 4096 + 64 + random() % (records - 4096 - 64);
      damaged[at] = static_cast<char>(random());
    }
    ASSERT_TRUE(base::WriteFile(file, damaged).ok());
    Convert();
  }
}

TEST_F(Conversion, OfARunThatLeftNothing) {
  ConversionOptions options;
  options.rpd = rpd();
  const auto summary = ConvertNothing("the moon was in the way", options);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary.value().lost.size(), 1u);
  EXPECT_EQ(Ask("SELECT count(*) FROM api"), Rows{"0"});
  EXPECT_EQ(Ask("SELECT what, note FROM rochound_lost"),
            Rows{"everything|the moon was in the way"});
}

TEST_F(Conversion, StopsWhenTold) {
  TestLog log(run());
  log.Finish();
  auto opened = trace::RunLog::Open(run());
  ConversionOptions options;
  options.rpd = rpd();
  options.progress = [](uint64_t, uint64_t) { return false; };
  EXPECT_FALSE(ConvertRun(opened.value(), options).ok());
  EXPECT_FALSE(std::filesystem::exists(rpd()));
}

}  // namespace
}  // namespace rochound::store
