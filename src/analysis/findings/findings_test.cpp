// SPDX-License-Identifier: MIT
//
// What real programs cannot show on the software GPU: rules that need telemetry, lost records or
// ranks, and the order and limits of findings. tests/explain/truth.py has the rest.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "analysis/findings/finding.h"
#include "analysis/findings/rule.h"
#include "analysis/test_trace.h"

namespace rochound::analysis {
namespace {

constexpr int64_t kMs = 1'000'000;

Findings Find(store::TraceDatabase& database) {
  auto findings = FindFindings(database, {});
  EXPECT_TRUE(findings.ok()) << findings.error().message;
  return std::move(findings).value();
}

const Finding* Named(const Findings& findings, const std::string& rule) {
  for (const Finding& one : findings.findings)
    if (one.rule == rule) return &one;
  return nullptr;
}

// Kernels back to back, launched ahead.
TestTrace Busy(int kernels = 20) {
  TestTrace trace;
  for (int i = 0; i < kernels; ++i) {
    const int64_t call =
        trace.Call({.start = i * 1000, .end = i * 1000 + 500, .stream = std::string()});
    trace.Kernel({.queue = 1,
                  .start = 20 * 1000 + i * 10 * kMs,
                  .end = 20 * 1000 + (i + 1) * 10 * kMs,
                  .name = i % 2 == 0 ? "A" : "B",
                  .call = call});
  }
  trace.Call({.start = kernels * 1000 + 1000,
              .end = 20 * 1000 + kernels * 10 * kMs,
              .name = "hipDeviceSynchronize"});
  return trace;
}

void Execute(store::TraceDatabase& database, const std::string& sql) {
  const auto done = database.connection().Run(sql);
  ASSERT_TRUE(done.ok()) << done.error().message;
}

TEST(FindingsTest, NothingIsAResultToo) {
  store::TraceDatabase database = Busy().Open();
  const Findings findings = Find(database);
  EXPECT_EQ(findings.verdict.rfind("nothing stands out: GPU busy 100%", 0), 0U) << findings.verdict;
  EXPECT_NE(findings.verdict.find("on the path 100% kernels"), std::string::npos)
      << findings.verdict;
  for (const Finding& one : findings.findings) EXPECT_EQ(one.confidence, Confidence::kNote);
}

TEST(FindingsTest, AnEmptyTraceHasNone) {
  store::TraceDatabase database = TestTrace().Open();
  const Findings findings = Find(database);
  EXPECT_TRUE(findings.findings.empty());
  EXPECT_FALSE(findings.verdict.empty());
}

TEST(FindingsTest, WorkWithoutTimesIsWorkNevertheless) {
  TestTrace trace;
  const int64_t call = trace.Call({.start = 0, .end = 1000, .stream = std::string()});
  trace.Kernel({.queue = 1, .start = 500, .end = 500, .call = call, .timed = false});
  store::TraceDatabase database = trace.Open();
  const Findings findings = Find(database);
  EXPECT_EQ(findings.verdict.rfind("nothing can be said: the times", 0), 0U) << findings.verdict;
}

TEST(FindingsTest, LostRecordsComeFirst) {
  TestTrace trace = Busy();
  trace.lost.push_back({.what = "records", .count = 17, .note = "buffer full"});
  store::TraceDatabase database = trace.Open();
  const Findings findings = Find(database);
  ASSERT_FALSE(findings.findings.empty());
  EXPECT_EQ(findings.findings[0].rule, "lost-records");
  EXPECT_NE(findings.findings[0].sentence.find("17 records"), std::string::npos);
  EXPECT_TRUE(findings.verdict.empty());
}

// What each kind of loss means, and what to do about it; the gravest is told.
TEST(FindingsTest, EachLossIsNamedForWhatItIs) {
  struct Case {
    std::vector<TestTrace::Lost> lost;
    std::string sentence, advice;
  };
  const Case cases[] = {
      {{{"everything", 1, "no GPU"}}, "Nothing was recorded.", "doctor --ran"},
      {{{"unrecorded process", 1, "why"}}, "A process that used a GPU is not", "Put rochound run"},
      {{{"recording ended early", 2, "why"}}, "Recording ended before 2 proc", "Mend what ended"},
      {{{"damaged data", 3, "why"}}, "3 parts of the log are damaged", "Record again before"},
      {{{"aligned clock", 1, "why"}}, "No clock is known", "Compare only times"},
      {{{"kernels left out", 4, "by --kernel 'x'"}}, "4 kernels were left out", "without --kernel"},
      {{{"calls left out", 1, "by --api 'x'"}}, "1 call was left out", "without --api"},
      {{{"packets", 4, "newer"}}, "4 records are missing", "Look at what is missing"},
      {{{"kernels left out", 90, "by --kernel"}, {"records dropped", 5, "no room"}},
       "5 records are missing",
       "--log-dir"},
  };
  for (const Case& one : cases) {
    TestTrace trace = Busy();
    trace.lost = one.lost;
    store::TraceDatabase database = trace.Open();
    const Findings findings = Find(database);
    ASSERT_FALSE(findings.findings.empty()) << one.sentence;
    const Finding& first = findings.findings[0];
    EXPECT_EQ(first.rule, "lost-records");
    EXPECT_EQ(first.sentence.find(one.sentence), 0U) << first.sentence;
    EXPECT_NE(first.advice.find(one.advice), std::string::npos) << first.advice;
  }
}

TEST(FindingsTest, WhatHadNotEndedIsNoLoss) {
  TestTrace trace = Busy();
  trace.lost.push_back({.what = "a process's end", .count = 1, .note = "it was killed"});
  trace.lost.push_back({.what = "call in flight", .count = 1, .note = "had not returned"});
  trace.lost.push_back({.what = "time", .count = 3, .note = "it had not been started"});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Named(Find(database), "lost-records"), nullptr);
}

// How long a kernel was in flight that never finished says nothing about its shape.
TEST(FindingsTest, AKernelThatNeverFinishedIsNotToldToBeFaster) {
  for (const bool finished : {true, false}) {
    TestTrace trace;
    const int64_t call = trace.Call({.start = 0, .end = 1000, .stream = std::string()});
    const int64_t kernel =
        trace.Kernel({.queue = 1, .start = 1000, .end = 100 * kMs, .name = "Spin", .call = call});
    trace.Call({.start = 2000, .end = 100 * kMs, .name = "hipDeviceSynchronize"});
    store::TraceDatabase database = trace.Open();
    if (!finished)
      Execute(database,
              "INSERT INTO rochound_unfinished VALUES ('kernel', " + std::to_string(kernel) + ")");
    const Findings findings = Find(database);
    EXPECT_EQ(Named(findings, "dominating-kernel") != nullptr, finished);
  }
}

// Of kernels that are left out, or whose times are not known, nobody knows whether the GPU was idle.
TEST(FindingsTest, IdleTimesAreNoMoreThanNotesWhereKernelsAreLeftOut) {
  for (const std::string what : {"", "kernels left out", "true times"}) {
    const bool left_out = !what.empty();
    TestTrace trace;
    for (int i = 0; i < 10; ++i) {
      const int64_t begin = i * 50 * kMs;
      const int64_t call =
          trace.Call({.start = begin, .end = begin + 1000, .stream = std::string()});
      trace.Kernel({.queue = 1, .start = begin + 1000, .end = begin + 20 * kMs, .call = call});
      trace.Call({.start = begin + 2000, .end = begin + 20 * kMs, .name = "hipDeviceSynchronize"});
    }
    if (left_out) trace.lost.push_back({.what = what, .count = 9, .note = "why"});
    store::TraceDatabase database = trace.Open();
    const Findings findings = Find(database);
    const Finding* const host = Named(findings, "host-work");
    ASSERT_NE(host, nullptr);
    EXPECT_EQ(host->confidence, left_out ? Confidence::kNote : Confidence::kSure);
    if (left_out) {
      EXPECT_EQ(host->to_be_sure, what == "true times"
                                      ? "record again: when many of the operations ran is not known"
                                      : "record without --kernel and --api");
    }
  }
}

// The first copy, or the first allocation, makes the runtime's queue: pinned memory and fewer
// allocations would not save that.
TEST(FindingsTest, WhatIsPaidOnceIsNotTheCallsOwnTime) {
  for (const char* name : {"hipMemcpy", "hipMalloc"}) {
    TestTrace trace;
    const int64_t first =
        trace.Call({.start = 0, .end = 400 * kMs, .name = name, .stream = std::string()});
    trace.Copy({.queue = 1,
                .start = 390 * kMs,
                .end = 395 * kMs,
                .call = first,
                .submit = 389 * kMs,
                .bytes = 8 << 20});
    int64_t now = 400 * kMs;
    for (int i = 0; i < 20; ++i, now += 10 * kMs) {
      trace.Call({.start = now, .end = now + kMs / 2, .name = name});
      const int64_t call = trace.Call({.start = now + kMs / 2, .end = now + kMs});
      trace.Kernel({.queue = 1, .start = now + kMs, .end = now + 10 * kMs, .call = call});
    }
    store::TraceDatabase database = trace.Open();
    Execute(
        database,
        "INSERT INTO rochound_process (session, pid, start, \"end\") VALUES (0, 1, 0, 600000000);"
        "INSERT INTO rochound_queue VALUES (0, 1, 1, 1, 0, 380000000)");
    const Findings findings = Find(database);
    const Finding* const once = Named(findings, "initialisation");
    ASSERT_NE(once, nullptr) << name;
    EXPECT_GT(once->gain_ns, 380 * kMs);
    for (const char* rule : {"pageable-copies", "allocation", "copies-on-path"})
      if (const Finding* const finding = Named(findings, rule)) {
        EXPECT_LT(finding->gain_ns, 30 * kMs) << rule;
      }
  }
}

TEST(FindingsTest, HostWorkIsNamedByItsRange) {
  TestTrace trace;
  for (int i = 0; i < 10; ++i) {
    const int64_t begin = i * 50 * kMs;
    const int64_t call = trace.Call({.start = begin, .end = begin + 1000, .stream = std::string()});
    trace.Kernel({.queue = 1, .start = begin + 1000, .end = begin + 20 * kMs, .call = call});
    trace.Call({.start = begin + 2000, .end = begin + 20 * kMs, .name = "hipDeviceSynchronize"});
    trace.Range(begin + 20 * kMs, begin + 50 * kMs, "tokenize");
  }
  store::TraceDatabase database = trace.Open();
  const Findings findings = Find(database);
  ASSERT_FALSE(findings.findings.empty());
  EXPECT_EQ(findings.findings[0].rule, "host-work");
  EXPECT_NE(findings.findings[0].sentence.find("'tokenize'"), std::string::npos)
      << findings.findings[0].sentence;
  EXPECT_NEAR(static_cast<double>(findings.findings[0].gain_ns), 300e6, 1e6);
  EXPECT_EQ(findings.findings[0].confidence, Confidence::kSure);
}

// A step: kernels launched ahead, then four bytes are copied to the host, which waits for them.
TestTrace ReadsResults(int64_t copied, const char* copy_call = "hipMemcpyWithStream") {
  TestTrace trace;
  int64_t now = 0;
  for (int i = 0; i < 60; ++i) {
    const int64_t step = now;
    int64_t gpu = now + 20'000;
    for (int k = 0; k < 3; ++k, now += 10'000, gpu += 500'000) {
      const int64_t call = trace.Call({.start = now, .end = now + 5'000, .stream = std::string()});
      trace.Kernel({.queue = 1, .start = gpu, .end = gpu + 500'000, .call = call});
    }
    trace.Call({.start = now,
                .end = gpu + 40'000,
                .name = "aten::item",
                .args = "aten::item",
                .domain = "torch"});
    trace.Call({.start = now + 1'000,
                .end = gpu + 30'000,
                .name = "aten::_local_scalar_dense",
                .args = "aten::_local_scalar_dense",
                .domain = "torch"});
    const int64_t read = trace.Call(
        {.start = now + 2'000, .end = gpu + 20'000, .name = copy_call, .stream = std::string()});
    trace.Copy({.queue = 1,
                .start = gpu + 5'000,
                .end = gpu + 10'000,
                .type = "CopyDeviceToHost",
                .call = read,
                .bytes = copied});
    now = gpu + 400'000;
    trace.Range(step, now, "train.py(12): step");
  }
  return trace;
}

TEST(FindingsTest, AHiddenSynchronizationIsNamedByItsOperatorAndLine) {
  store::TraceDatabase database = ReadsResults(4).Open();
  Execute(database, "UPDATE rocpd_copyapi SET kind = 2, \"dstDevice\" = -1");
  const Findings findings = Find(database);
  ASSERT_FALSE(findings.findings.empty());
  const Finding& first = findings.findings[0];
  EXPECT_EQ(first.rule, "hidden-synchronization") << first.sentence;
  EXPECT_EQ(first.confidence, Confidence::kSure);
  EXPECT_NE(first.evidence.find("aten::item at train.py(12): step"), std::string::npos)
      << first.evidence;
  EXPECT_NEAR(static_cast<double>(first.gain_ns), 59 * 0.42e6, 2e6);
  for (const char* rule : {"launch-rate", "small-copies", "pageable-copies"})
    EXPECT_EQ(Named(findings, rule), nullptr) << rule;
  for (const Finding& one : findings.findings)
    EXPECT_EQ(one.advice.find("graph"), std::string::npos) << one.advice;
}

// Many bytes are data, not a result that is looked at.
TEST(FindingsTest, ALargeCopyIsNoHiddenSynchronization) {
  store::TraceDatabase database = ReadsResults(8 << 20).Open();
  Execute(database, "UPDATE rocpd_copyapi SET kind = 2, \"dstDevice\" = -1");
  EXPECT_EQ(Named(Find(database), "hidden-synchronization"), nullptr);
}

// Short kernels, each launched a moment after the one before has ended.
TestTrace Launches(int kernels, int64_t first_at, int64_t pause, int names) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 1'000, .name = "hipGetDevice"});
  int64_t now = first_at;
  for (int i = 0; i < kernels; ++i, now += pause + 10'000) {
    const int64_t call = trace.Call({.start = now, .end = now + 4'000, .stream = std::string()});
    trace.Kernel({.queue = 1,
                  .start = now + 5'000,
                  .end = now + 10'000,
                  .name = "K" + std::to_string(i % names),
                  .call = call});
  }
  return trace;
}

TEST(FindingsTest, TimeBeforeTheFirstOperationIsNoLaunching) {
  store::TraceDatabase database = Launches(200, 300 * kMs, 10'000, 3).Open();
  const Findings findings = Find(database);
  const Finding* const edges = Named(findings, "edges");
  ASSERT_NE(edges, nullptr);
  EXPECT_NEAR(static_cast<double>(edges->gain_ns), 300e6, 1e6);
  EXPECT_EQ(edges->confidence, Confidence::kLikely);
  const Finding* const launches = Named(findings, "launch-rate");
  if (launches != nullptr) {
    EXPECT_LT(launches->gain_ns, 4 * kMs);
  }
}

TEST(FindingsTest, AGraphIsAdvisedForSeveralKernels) {
  for (const int names : {1, 3}) {
    store::TraceDatabase database = Launches(200, 1'000, 30'000, names).Open();
    const Findings findings = Find(database);
    ASSERT_FALSE(findings.findings.empty());
    const Finding& first = findings.findings[0];
    EXPECT_EQ(first.rule, "launch-rate");
    EXPECT_EQ(first.advice.find("HIP graph") != std::string::npos, names > 1) << first.advice;
    EXPECT_NE(first.evidence.find("199 gaps"), std::string::npos) << first.evidence;
  }
}

// Between launches the host may sleep or compute as well as be slow to launch: that it launches is
// shown by its calls, or by PyTorch's operators.
TEST(FindingsTest, SlowLaunchingIsSureOnlyWhereNothingElseWasGoingOn) {
  struct Case {
    const char* domain;  // of the range around everything between launches; "": there is none
    const char* category;
    int64_t call, pause;
    Confidence confidence;
  };
  const Case cases[] = {
      {"", "", 4'000, 1'500'000, Confidence::kLikely},
      {"roctx", "", 4'000, 1'500'000, Confidence::kLikely},
      {"torch", "python_function", 4'000, 100'000, Confidence::kLikely},
      {"torch", "cpu_op", 4'000, 100'000, Confidence::kSure},
      {"", "", 100'000, 10'000, Confidence::kSure},
  };
  for (const Case& one : cases) {
    TestTrace trace;
    const int64_t period = one.call + one.pause + 10'000;
    for (int i = 0; i < 200; ++i) {
      const int64_t begin = i * period;
      const int64_t call = trace.Call({.start = begin + one.pause,
                                       .end = begin + one.pause + one.call,
                                       .stream = std::string()});
      trace.Kernel({.queue = 1,
                    .start = begin + one.pause + one.call,
                    .end = begin + period,
                    .call = call,
                    .submit = begin + one.pause + one.call - 1'000});
      if (*one.domain == '\0') continue;
      trace.Call({.start = begin,
                  .end = begin + period,
                  .name = "UserMarker",
                  .args = "aten::add",
                  .domain = one.domain,
                  .category = one.category});
    }
    store::TraceDatabase database = trace.Open();
    const Findings findings = Find(database);
    ASSERT_FALSE(findings.findings.empty());
    const Finding& first = findings.findings[0];
    EXPECT_EQ(first.rule, "launch-rate") << first.sentence;
    EXPECT_EQ(first.confidence, one.confidence) << one.domain << ": " << first.sentence;
    EXPECT_EQ(first.to_be_sure.empty(), one.confidence == Confidence::kSure);
  }
}

// A thread that used less CPU time in all than passed between its launches did not spend that time
// launching.
TEST(FindingsTest, AThreadThatSleepsBetweenLaunchesIsNotSlowToLaunch) {
  for (const int64_t cpu_ms : {20, 310}) {
    TestTrace trace = Launches(200, 1'000, 1'500'000, 1);
    trace.processes.push_back({.pid = 1, .start = 0, .end = 305 * kMs});
    store::TraceDatabase database = trace.Open();
    Execute(database,
            "INSERT INTO rochound_fact BY NAME SELECT 0 AS session, 'thread' AS name, '1," +
                std::to_string(cpu_ms * kMs) +
                ",main' AS value UNION ALL SELECT 0, 'end_ns', '305000000'");
    const Findings findings = Find(database);
    EXPECT_EQ(Named(findings, "launch-rate") == nullptr, cpu_ms == 20);
    EXPECT_EQ(Named(findings, "host-work") != nullptr, cpu_ms == 20);
  }
}

// Milliseconds in a range between launches are what the range does.
TEST(FindingsTest, WhatTakesLongBetweenLaunchesIsNoLaunching) {
  TestTrace trace;
  for (int i = 0; i < 200; ++i) {
    const int64_t begin = i * 1'600'000;
    trace.Range(begin, begin + 1'500'000, "read file");
    const int64_t call =
        trace.Call({.start = begin + 1'510'000, .end = begin + 1'515'000, .stream = std::string()});
    trace.Kernel({.queue = 1, .start = begin + 1'520'000, .end = begin + 1'540'000, .call = call});
  }
  store::TraceDatabase database = trace.Open();
  const Findings findings = Find(database);
  ASSERT_FALSE(findings.findings.empty());
  EXPECT_EQ(findings.findings[0].rule, "host-work");
  EXPECT_NE(findings.findings[0].sentence.find("'read file'"), std::string::npos);
  EXPECT_EQ(Named(findings, "launch-rate"), nullptr);
}

// A thread's CPU time is of its whole life: what fits beside the kernels may have been used there.
TEST(FindingsTest, TheCpuComputesOnlyWhatItCannotHaveComputedElsewhere) {
  for (const int64_t cpu_ms : {900, 1900}) {
    TestTrace trace;
    for (int i = 0; i < 10; ++i) {
      const int64_t begin = i * 200 * kMs;
      const int64_t call =
          trace.Call({.start = begin, .end = begin + 1000, .stream = std::string()});
      trace.Kernel({.queue = 1, .start = begin + 1000, .end = begin + 90 * kMs, .call = call});
      trace.Call(
          {.start = begin + 80 * kMs, .end = begin + 90 * kMs, .name = "hipDeviceSynchronize"});
    }
    trace.processes.push_back({.pid = 1, .start = 0, .end = 2000 * kMs});
    store::TraceDatabase database = trace.Open();
    Execute(database,
            "INSERT INTO rochound_fact BY NAME SELECT 0 AS session, 'thread' AS name, '1," +
                std::to_string(cpu_ms * kMs) + "' AS value");
    const Findings findings = Find(database);
    // 900 ms fit beside the kernels, 1900 ms do not.
    EXPECT_EQ(Named(findings, "cpu-work") != nullptr, cpu_ms == 1900);
    EXPECT_EQ(Named(findings, "host-work") != nullptr, cpu_ms == 900);
  }
}

// The first operation was submitted long before it started: earlier work was in its way.
TEST(FindingsTest, WorkFromBeforeTheRecordingIsNoLatency) {
  TestTrace trace;
  for (int i = 0; i < 40; ++i) {
    const int64_t call =
        trace.Call({.start = i * 10'000, .end = i * 10'000 + 5'000, .stream = std::string()});
    trace.Kernel({.queue = 1,
                  .start = 400 * kMs + i * 100'000,
                  .end = 400 * kMs + i * 100'000 + 90'000,
                  .call = call});
  }
  store::TraceDatabase database = trace.Open();
  const Findings findings = Find(database);
  ASSERT_FALSE(findings.findings.empty());
  EXPECT_EQ(findings.findings[0].rule, "not-recorded");
  EXPECT_NE(findings.findings[0].confidence, Confidence::kSure);
  EXPECT_EQ(Named(findings, "launch-rate"), nullptr);
}

// Collectives that nothing runs beside, and the same with computing on another stream.
TEST(FindingsTest, CommunicationThatNothingHidesIsFound) {
  for (const bool hidden : {false, true}) {
    TestTrace trace;
    for (int i = 0; i < 20; ++i) {
      const int64_t begin = i * 30 * kMs;
      const int64_t call =
          trace.Call({.start = i * 1'000, .end = i * 1'000 + 500, .stream = std::string()});
      trace.Kernel({.queue = 1,
                    .start = begin + 100'000,
                    .end = begin + 10 * kMs,
                    .name = "Forward",
                    .call = call});
      trace.Kernel({.queue = 2,
                    .start = begin + 10 * kMs,
                    .end = begin + 30 * kMs,
                    .name = "ncclDevKernel_Generic",
                    .call = call});
      if (hidden)
        trace.Kernel({.queue = 1,
                      .start = begin + 10 * kMs,
                      .end = begin + 30 * kMs,
                      .name = "Backward",
                      .call = call});
    }
    store::TraceDatabase database = trace.Open();
    const Findings findings = Find(database);
    const Finding* const exposed = Named(findings, "exposed-communication");
    ASSERT_EQ(exposed != nullptr, !hidden);
    if (hidden) continue;
    EXPECT_NEAR(static_cast<double>(exposed->gain_ns), 400e6, 1e6);
    EXPECT_NE(exposed->sentence.find("198.0 ms of computing"), std::string::npos)
        << exposed->sentence;
    EXPECT_NE(exposed->evidence.find("20 ncclDevKernel_Generic"), std::string::npos)
        << exposed->evidence;
  }
}

// Whether memory is pinned is known only where its allocations are in the trace.
TEST(FindingsTest, MemoryIsCalledPageableOnlyWhereAllocationsAreKnown) {
  for (const char* known : {"", "allocations", "a pause"}) {
    TestTrace trace;
    for (int i = 0; i < 20; ++i) {
      const int64_t begin = i * 20 * kMs;
      const int64_t copy = trace.Call(
          {.start = begin, .end = begin + 10 * kMs, .name = "hipMemcpy", .stream = std::string()});
      trace.Copy({.queue = 1,
                  .start = begin + 100'000,
                  .end = begin + 9 * kMs,
                  .call = copy,
                  .bytes = 8 << 20});
      const int64_t call = trace.Call({.start = begin + 10 * kMs, .end = begin + 10 * kMs + 1'000});
      trace.Kernel({.queue = 1, .start = begin + 11 * kMs, .end = begin + 20 * kMs, .call = call});
    }
    if (*known == 'a' && known[1] == ' ')
      trace.unrecorded.push_back({.start = -10 * kMs, .end = 0, .why = "delay"});
    store::TraceDatabase database = trace.Open();
    Execute(database, "UPDATE rocpd_copyapi SET kind = 1, src = '0x7000'");
    if (*known != '\0')
      Execute(
          database,
          "INSERT INTO rochound_allocation BY NAME SELECT 1 AS id, 4096 AS address, 4096 AS size");
    const Findings findings = Find(database);
    const bool pageable = Named(findings, "pageable-copies") != nullptr;
    EXPECT_EQ(pageable, std::string(known) == "allocations") << known;
    EXPECT_EQ(Named(findings, "copies-on-path") != nullptr, !pageable) << known;
  }
}

// Copies whose size is not in the trace are not small.
TEST(FindingsTest, ACopyOfUnknownSizeIsNotSmall) {
  TestTrace trace;
  for (int i = 0; i < 60; ++i) {
    const int64_t begin = i * 5 * kMs;
    const int64_t copy = trace.Call(
        {.start = begin, .end = begin + 4 * kMs, .name = "hipMemcpy", .stream = std::string()});
    trace.Copy({.queue = 1, .start = begin + 100'000, .end = begin + 3 * kMs, .call = copy});
  }
  store::TraceDatabase database = trace.Open();
  Execute(database, "UPDATE rocpd_copyapi SET kind = 1");
  EXPECT_EQ(Named(Find(database), "small-copies"), nullptr);
}

TEST(FindingsTest, AClockThatFellCostsItsShare) {
  store::TraceDatabase database = Busy().Open();
  // Half the clock in the second half.
  Execute(database,
          "INSERT INTO rocpd_monitor VALUES (1, 'gpu', 0, 'sclk', 0, 100000000, '2000'), "
          "(2, 'gpu', 0, 'sclk', 100000000, 300000000, '1000')");
  const Findings findings = Find(database);
  const Finding* const clock = Named(findings, "clock-drop");
  ASSERT_NE(clock, nullptr);
  EXPECT_NEAR(static_cast<double>(clock->gain_ns), 50e6, 1e6);
  EXPECT_EQ(clock->confidence, Confidence::kLikely);
  EXPECT_FALSE(clock->to_be_sure.empty());
}

// Two ranks meet in a collective again and again; the second always arrives 10 ms later.
TEST(FindingsTest, ALateRankIsNamed) {
  TestTrace trace;
  for (int i = 0; i < 10; ++i) {
    const int64_t begin = i * 30 * kMs;
    for (int rank = 0; rank < 2; ++rank) {
      const int64_t arrives = begin + rank * 10 * kMs;
      const int64_t call = trace.Call({.pid = rank + 1,
                                       .tid = rank + 1,
                                       .start = arrives,
                                       .end = arrives + 1000,
                                       .stream = std::string()});
      trace.Kernel({.gpu = rank,
                    .queue = rank + 1,
                    .start = arrives + 1000,
                    .end = begin + 12 * kMs,
                    .name = "ncclDevKernel_AllReduce_Sum_f32",
                    .call = call});
    }
  }
  store::TraceDatabase database = trace.Open();
  const Findings findings = Find(database);
  const Finding* const late = Named(findings, "straggler");
  ASSERT_NE(late, nullptr);
  EXPECT_NE(late->sentence.find("Rank 1 is late"), std::string::npos) << late->sentence;
  EXPECT_NEAR(static_cast<double>(late->gain_ns), 100e6, 1e6);
}

// A loop of a call that does nothing: neither the calls nor what lies between them is the program's.
TEST(FindingsTest, RecordingIsNamedWhereItIsWhatCosts) {
  for (const int calls : {1'000, 110'000}) {
    TestTrace trace;
    const int64_t first = trace.Call({.start = 0, .end = 1'000, .stream = std::string()});
    trace.Kernel({.queue = 1, .start = 1'000, .end = 2'000, .call = first});
    for (int i = 0; i < calls; ++i)
      trace.Call({.start = 3'000 + i * 500, .end = 3'300 + i * 500, .name = "hipGetDevice"});
    const int64_t end = 3'000 + calls * int64_t{500};
    const int64_t last = trace.Call({.start = end, .end = end + 1'000, .stream = std::string()});
    trace.Kernel({.queue = 1, .start = end + 1'000, .end = end + 5 * kMs, .call = last});
    store::TraceDatabase database = trace.Open();
    const Findings findings = Find(database);
    const Finding* const recording = Named(findings, "recording");
    ASSERT_EQ(recording != nullptr, calls > 100'000);
    if (recording == nullptr) continue;
    EXPECT_EQ(findings.findings[0].rule, "recording");
    EXPECT_NEAR(static_cast<double>(recording->gain_ns), 55e6, 1e5);
    EXPECT_EQ(Named(findings, "host-work"), nullptr);
    EXPECT_EQ(Named(findings, "other-call"), nullptr);
  }
}

// Whatever is found, what is promised is not more than the run.
TEST(FindingsTest, PromisesAddUpToTheRunAtMost) {
  TestTrace trace;
  for (int i = 0; i < 24; ++i) {
    const int64_t begin = i * i * kMs;
    const int64_t gpu = i % 2;
    trace.Range(begin, begin + (2 * i + 1) * kMs, "step " + std::to_string(i));
    const int64_t call =
        trace.Call({.start = begin, .end = begin + 1'000, .stream = std::string()});
    trace.Kernel({.gpu = gpu,
                  .queue = gpu + 1,
                  .start = begin + 1'000,
                  .end = begin + i * kMs + kMs,
                  .call = call});
    trace.Call(
        {.start = begin + 2'000, .end = begin + i * kMs + kMs, .name = "hipDeviceSynchronize"});
  }
  store::TraceDatabase database = trace.Open();
  const Findings findings = Find(database);
  int64_t promised = 0, alone = 0;
  for (const Finding& one : findings.findings) {
    if (one.confidence == Confidence::kNote) continue;
    promised += one.gain_ns;
    ++alone;
  }
  EXPECT_GE(alone, 3);
  EXPECT_LE(promised, 24 * 24 * kMs);
}

TEST(FindingsTest, FailuresThatAnswerAQuestionAreNone) {
  store::TraceDatabase database = Busy().Open();
  Execute(database, "INSERT INTO rochound_failure VALUES (1, 600), (2, NULL)");
  EXPECT_EQ(Named(Find(database), "failed-calls"), nullptr);
  Execute(database, "INSERT INTO rochound_failure VALUES (3, 1)");
  const Findings findings = Find(database);
  ASSERT_FALSE(findings.findings.empty());
  EXPECT_EQ(findings.findings[0].rule, "failed-calls");
}

// rocBLAS asks code objects for kernels that they need not have.
TEST(FindingsTest, FailuresOfCallsThatProbeAreNone) {
  TestTrace trace = Busy();
  for (int i = 0; i < 6; ++i)
    trace.Call({.start = 60'000 + i * 100,
                .end = 60'050 + i * 100,
                .name = "hipModuleGetFunction",
                .result = 500});
  store::TraceDatabase database = trace.Open();
  EXPECT_EQ(Named(Find(database), "failed-calls"), nullptr);
  Execute(database, "INSERT INTO rochound_failure VALUES (3, 1)");
  const Findings findings = Find(database);
  const Finding* const failed = Named(findings, "failed-calls");
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->sentence.rfind("1 HIP call failed and the program went on: hipLaunchKernel", 0),
            0U)
      << failed->sentence;
}

TEST(FindingsTest, WhatEndedTheRunComesFirst) {
  TestTrace trace = Busy();
  trace.lost.push_back({.what = "records"});
  store::TraceDatabase database = trace.Open();
  Execute(database, "INSERT INTO rochound_failure VALUES (3, 1)");
  EXPECT_EQ(Named(Find(database), "ended"), nullptr);
  Execute(database, "INSERT INTO rocpd_metadata VALUES (100, 'rochound_status', 'signal 11')");
  const Findings findings = Find(database);
  ASSERT_FALSE(findings.findings.empty());
  EXPECT_EQ(findings.findings[0].rule, "ended");
  EXPECT_EQ(findings.findings[0].sentence, "The program crashed: SIGSEGV.");
  EXPECT_EQ(findings.findings[0].confidence, Confidence::kSure);
  const Finding* const failed = Named(findings, "failed-calls");
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->sentence.rfind("1 HIP call failed before the program ended: ", 0), 0U)
      << failed->sentence;
}

// People stop what hangs: that it was stopped is not the reason.
TEST(FindingsTest, AHangComesBeforeWhatEndedTheProgramBecauseOfIt) {
  for (const std::string status : {"signal 2", "exit 1"}) {
    TestTrace trace = Busy();
    const int64_t kernel =
        trace.Kernel({.queue = 2, .start = kMs, .end = 5000 * kMs, .name = "Hang"});
    trace.lost.push_back({.what = "records"});
    store::TraceDatabase database = trace.Open();
    Execute(database,
            "INSERT INTO rochound_unfinished VALUES ('kernel', " + std::to_string(kernel) + ")");
    Execute(database,
            "INSERT INTO rocpd_metadata VALUES (100, 'rochound_status', '" + status + "')");
    const Findings findings = Find(database);
    ASSERT_GE(findings.findings.size(), 2U);
    EXPECT_EQ(findings.findings[0].rule, "unfinished-kernel") << status;
    EXPECT_EQ(findings.findings[1].rule, "ended") << status;
  }
}

TEST(FindingsTest, NoKernelRan) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 10 * kMs, .name = "hipMalloc"});
  store::TraceDatabase database = trace.Open();
  Execute(database, "INSERT INTO rocpd_metadata VALUES (100, 'rochound_status', 'exit 0')");
  const Findings findings = Find(database);
  ASSERT_FALSE(findings.findings.empty());
  EXPECT_EQ(findings.findings[0].sentence, "No kernel of the program ran.");
  // Kernels that were left out as asked may have run.
  trace.lost.push_back({.what = "kernels left out"});
  store::TraceDatabase partial = trace.Open();
  Execute(partial, "INSERT INTO rocpd_metadata VALUES (100, 'rochound_status', 'exit 0')");
  EXPECT_EQ(Named(Find(partial), "ended"), nullptr);
}

TEST(FindingsTest, SayHowMuchTheGpuWasUsed) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 10 * kMs});
  trace.Kernel({.start = 5 * kMs, .end = 7 * kMs});
  store::TraceDatabase database = trace.Open();
  const Findings findings = Find(database);
  EXPECT_EQ(findings.usage, "GPU 0 was busy 20.0% of 10.0 ms");
  EXPECT_EQ(FindingsAnswer(findings).notes.front(), findings.usage);
}

TEST(FindingsTest, RulesHaveNamesTextsAndQuestions) {
  std::set<std::string> names;
  for (const Rule& rule : Rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_NE(FindQuestion(rule.question), nullptr) << rule.name;
    EXPECT_STRNE(rule.advice, "") << rule.name;
    if (rule.confidence == Confidence::kLikely) EXPECT_STRNE(rule.to_be_sure, "") << rule.name;
  }
  EXPECT_GE(names.size(), 20U);
}

TEST(FindingsTest, TheAnswerHasTheSameFindings) {
  TestTrace trace = Busy();
  trace.lost.push_back({.what = "records"});
  store::TraceDatabase database = trace.Open();
  const Findings findings = Find(database);
  const Answer answer = FindingsAnswer(findings);
  ASSERT_EQ(answer.tables.size(), 1U);
  EXPECT_EQ(answer.tables[0].rows.size(), findings.findings.size());
  EXPECT_LE(findings.findings.size(), kMostFindings);
}

}  // namespace
}  // namespace rochound::analysis
