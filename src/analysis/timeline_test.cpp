// SPDX-License-Identifier: MIT
#include "analysis/timeline.h"

#include <gtest/gtest.h>

#include "analysis/test_trace.h"

namespace rochound::analysis {
namespace {

Timeline Read(const TestTrace& trace, uint64_t most_events = 1000) {
  store::TraceDatabase database = trace.Open();
  auto timeline = ReadTimeline(database, most_events);
  EXPECT_TRUE(timeline.ok()) << timeline.error().message;
  return std::move(timeline).value();
}

TEST(TimelineTest, TracksRowsAndLaunches) {
  TestTrace trace;
  trace.Range(1000, 2000, "step 1");
  const int64_t launch = trace.Call({.start = 1100, .end = 1200});
  const int64_t other =
      trace.Call({.tid = 2, .start = 1150, .end = 1160, .name = "hipGraphLaunch"});
  trace.Kernel({.gpu = 0, .queue = 1, .start = 1300, .end = 1400, .name = "Add", .call = launch});
  trace.Kernel({.gpu = 1, .queue = 1, .start = 1250, .end = 1500, .name = "A", .call = other});
  trace.Kernel({.gpu = 1, .queue = 1, .start = 1300, .end = 1350, .name = "B", .call = other});
  trace.Copy({.gpu = 0, .queue = 0, .start = 1010, .end = 2100});
  const Timeline timeline = Read(trace);
  EXPECT_EQ(timeline.facts.begin, 1000);
  EXPECT_EQ(timeline.facts.length, 1100);
  EXPECT_EQ(timeline.facts.calls, 3);
  EXPECT_EQ(timeline.facts.operations, 4);
  EXPECT_EQ(timeline.facts.gpus, 2);
  EXPECT_EQ(timeline.facts.processes, 1);
  EXPECT_EQ(timeline.quantum, 0);

  ASSERT_EQ(timeline.tracks.size(), 5U);
  const std::vector<uint64_t> one{1}, two{1, 1};
  EXPECT_EQ(timeline.tracks[0].title, "Queue 0");
  EXPECT_EQ(timeline.tracks[0].group, "GPU 0");
  EXPECT_EQ(timeline.tracks[1].rows, one);
  EXPECT_EQ(timeline.tracks[2].rows, two);  // kernels at the same time
  EXPECT_EQ(timeline.tracks[3].title, "Main thread 1");
  EXPECT_EQ(timeline.tracks[3].rows, two);  // the call in its range
  EXPECT_EQ(timeline.tracks[4].title, "Thread 2");

  ASSERT_EQ(timeline.events.size(), 7U);
  const auto name = [&](size_t event) { return timeline.names[timeline.events[event].name]; };
  EXPECT_EQ(name(0), "CopyHostToDevice");
  EXPECT_EQ(timeline.events[0].launch, -1);
  EXPECT_EQ(name(1), "Add");
  EXPECT_EQ(timeline.events[1].start, 300);
  ASSERT_EQ(timeline.events[1].launch, 5);
  EXPECT_EQ(name(5), "hipLaunchKernel");
  EXPECT_EQ(timeline.events[2].launch, 6);
  EXPECT_EQ(timeline.events[3].launch, 6);
  EXPECT_EQ(name(4), "step 1");
}

TEST(TimelineTest, RangesThatDoNotNestStandApart) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 100, .name = "hipMalloc"});
  trace.Call({.start = 50, .end = 200, .name = "UserRange", .args = "loading", .domain = "roctx"});
  trace.Call({.start = 120, .end = 130, .name = "hipFree"});
  const Timeline timeline = Read(trace);
  ASSERT_EQ(timeline.tracks.size(), 2U);
  EXPECT_EQ(timeline.tracks[0].rows, std::vector<uint64_t>{2});
  EXPECT_EQ(timeline.tracks[1].title, "Ranges of thread 1");
  EXPECT_EQ(timeline.names[timeline.events[2].name], "loading");
}

TEST(TimelineTest, TheRecordersOwnWorkIsLeftOut) {
  TestTrace trace;
  trace.Call({.start = 0, .end = 5, .name = "drain", .domain = "rochound"});
  trace.Call({.start = 10, .end = 20});
  const Timeline timeline = Read(trace);
  EXPECT_EQ(timeline.facts.begin, 10);
  EXPECT_EQ(timeline.events.size(), 1U);
}

TEST(TimelineTest, AnEmptyTraceIsEmpty) {
  const Timeline timeline = Read({});
  EXPECT_EQ(timeline.facts.length, 0);
  EXPECT_TRUE(timeline.tracks.empty());
}

TEST(TimelineTest, LinksOfAThinnedTimelineAreRightOrMissing) {
  TestTrace trace;
  for (int64_t i = 0; i < 500; ++i) {
    const int64_t call = trace.Call({.start = i * 100, .end = i * 100 + 20});
    trace.Kernel({.queue = 1, .start = i * 100 + 30, .end = i * 100 + 90, .call = call});
  }
  const Timeline timeline = Read(trace, 200);
  EXPECT_GT(timeline.quantum, 0);
  EXPECT_LE(timeline.events.size(), 200U);
  size_t linked = 0;
  uint64_t stand_for = 0;
  for (const TimelineEvent& event : timeline.events) {
    stand_for += event.merged;
    if (event.launch < 0) continue;
    ++linked;
    EXPECT_EQ(timeline.events[static_cast<size_t>(event.launch)].id, event.id);
  }
  EXPECT_EQ(stand_for, 1000U);
  EXPECT_GT(linked, 0U);
}

}  // namespace
}  // namespace rochound::analysis
