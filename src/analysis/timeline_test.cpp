// SPDX-License-Identifier: MIT
#include "analysis/timeline.h"

#include <gtest/gtest.h>

#include <tuple>

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
  EXPECT_EQ(timeline.facts.calls, 2);  // a range is no call
  EXPECT_EQ(timeline.facts.operations, 4);
  EXPECT_EQ(timeline.facts.gpus, 2);
  EXPECT_EQ(timeline.facts.processes, 1);
  EXPECT_EQ(timeline.quantum, 0);

  ASSERT_EQ(timeline.tracks.size(), 5U);
  const std::vector<uint64_t> one{1}, two{1, 1};
  EXPECT_EQ(timeline.tracks[0].title, "Default stream");
  EXPECT_EQ(timeline.tracks[0].group, "GPU 0");
  EXPECT_EQ(timeline.tracks[0].rows, one);
  EXPECT_EQ(timeline.tracks[1].title, "Queue 0");  // nobody knows who asked for the copy
  EXPECT_EQ(timeline.tracks[2].rows, two);         // kernels at the same time
  EXPECT_EQ(timeline.tracks[3].title, "Main thread 1");
  EXPECT_EQ(timeline.tracks[3].rows, two);  // the call in its range
  EXPECT_EQ(timeline.tracks[4].title, "Thread 2");

  ASSERT_EQ(timeline.events.size(), 7U);
  const auto name = [&](size_t event) { return timeline.names[timeline.events[event].name]; };
  EXPECT_EQ(name(1), "CopyHostToDevice");
  EXPECT_EQ(timeline.events[1].launch, -1);
  EXPECT_EQ(name(0), "Add");
  EXPECT_EQ(timeline.events[0].start, 300);
  ASSERT_EQ(timeline.events[0].launch, 5);
  EXPECT_EQ(name(5), "hipLaunchKernel");
  EXPECT_EQ(timeline.events[2].launch, 6);
  EXPECT_EQ(timeline.events[3].launch, 6);
  EXPECT_EQ(name(4), "step 1");
}

TEST(TimelineTest, AStreamIsALane) {
  TestTrace trace;
  const auto launch = [&](int64_t at, int64_t tid, std::string stream) {
    return trace.Call({.tid = tid, .start = at, .end = at + 5, .stream = std::move(stream)});
  };
  // Two streams that share a queue, one of them on a second queue later; the default stream by both
  // of its names; a stream per thread; a fill, whose stream is among its arguments; a HIP call that
  // takes no stream; and work of which no call is known.
  const auto kernel = [&](int64_t at, int64_t queue, int64_t call) {
    trace.Kernel({.queue = queue, .start = at, .end = at + 10, .call = call});
  };
  kernel(100, 1, launch(0, 1, "0xb0"));
  kernel(110, 1, launch(10, 1, "0xa0"));
  kernel(120, 2, launch(20, 1, "0xb0"));
  kernel(130, 3, launch(30, 1, "0x0"));
  kernel(140, 3, launch(40, 1, "0x1"));
  kernel(150, 3, launch(50, 2, "0x2"));
  kernel(160, 3, launch(60, 3, "0x2"));
  kernel(170, 1,
         trace.Call({.start = 70, .end = 75, .name = "hipMemsetAsync", .args = "v=0|stream=0xa0"}));
  kernel(180, 3, trace.Call({.start = 80, .end = 85, .name = "hipMemset", .args = "v=0"}));
  kernel(190, 4, kNoTestCall);
  const Timeline timeline = Read(trace);
  using Found = std::vector<std::tuple<std::string, std::string, uint64_t>>;
  Found found;
  for (const TimelineTrack& track : timeline.tracks)
    if (track.kind == TimelineTrack::Kind::kGpu)
      found.emplace_back(track.title, track.note, track.rows.at(0));
  EXPECT_EQ(found, (Found{{"Default stream", "queue 3", 3},
                          {"Stream 1", "0xb0, queues 1, 2", 2},
                          {"Stream 2", "0xa0, queue 1", 2},
                          {"Default stream of thread 2", "queue 3", 1},
                          {"Default stream of thread 3", "queue 3", 1},
                          {"Queue 4", "", 1}}));

  store::TraceDatabase database = trace.Open();
  const auto by_queue = ReadTimeline(database, 1000, Lanes::kQueues);
  ASSERT_TRUE(by_queue.ok()) << by_queue.error().message;
  EXPECT_EQ(by_queue.value().tracks[0].title, "Queue 1");
  EXPECT_EQ(by_queue.value().tracks[0].rows, std::vector<uint64_t>{3});
}

// Other tools number streams; one and two are no handles of HIP's then.
TEST(TimelineTest, NumberedStreamsKeepTheirNumbers) {
  TestTrace trace;
  int64_t at = 0;
  for (const char* stream : {"7", "0", "2", "7"}) {
    const int64_t call = trace.Call({.start = at, .end = at + 5, .stream = stream});
    trace.Kernel({.queue = 5, .start = 100 + at, .end = 110 + at, .call = call});
    at += 10;
  }
  const Timeline timeline = Read(trace);
  std::vector<std::string> found;
  for (const TimelineTrack& track : timeline.tracks)
    if (track.kind == TimelineTrack::Kind::kGpu) found.push_back(track.title);
  EXPECT_EQ(found, (std::vector<std::string>{"Default stream", "Stream 7", "Stream 2"}));
}

// PyTorch's profiler puts the stream where others have the queue; calls before it began are missing.
TEST(TimelineTest, NumberedQueuesTellTheStreamWithoutACall) {
  TestTrace trace;
  const int64_t call = trace.Call({.start = 0, .end = 5, .stream = "7"});
  trace.Kernel({.queue = 7, .start = 100, .end = 110, .call = call});
  trace.Kernel({.queue = 7, .start = 50, .end = 60});
  trace.Kernel({.queue = 4, .start = 70, .end = 80});
  // A fill, which has no row with its stream.
  const int64_t fill = trace.Call({.start = 6, .end = 7, .name = "hipMemsetAsync"});
  trace.Kernel({.queue = 4, .start = 90, .end = 95, .call = fill});
  store::TraceDatabase database = trace.Open();
  const auto added =
      database.connection().Run("INSERT INTO rochound_process(session, pid) VALUES (0, 1)");
  ASSERT_TRUE(added.ok()) << added.error().message;
  const auto timeline = ReadTimeline(database, 1000);
  ASSERT_TRUE(timeline.ok()) << timeline.error().message;
  std::vector<std::pair<std::string, uint64_t>> found;
  for (const TimelineTrack& track : timeline.value().tracks)
    if (track.kind == TimelineTrack::Kind::kGpu) found.emplace_back(track.title, track.rows.at(0));
  EXPECT_EQ(found,
            (std::vector<std::pair<std::string, uint64_t>>{{"Stream 7", 2}, {"Stream 4", 2}}));
}

TEST(TimelineTest, KernelsHaveTheirShape) {
  TestTrace trace;
  const int64_t call = trace.Call({.start = 0, .end = 5});
  for (const int64_t size : {1024, 1024, 64})
    trace.Kernel({.start = 2048 - size, .end = 2058 - size, .call = call, .grid = {size, 2, 1}});
  const Timeline timeline = Read(trace);
  std::vector<std::array<int64_t, 3>> grids;
  for (const TimelineEvent& event : timeline.events)
    grids.push_back(timeline.shapes.at(event.shape).grid);
  EXPECT_EQ(timeline.shapes.size(), 3U);
  EXPECT_EQ(grids, (std::vector<std::array<int64_t, 3>>{
                       {1024, 2, 1}, {64, 2, 1}, {1024, 2, 1}, {0, 0, 0}}));
}

TEST(TimelineTest, StreamsOfTwoProcessesAreTwo) {
  TestTrace trace;
  for (int64_t pid = 1; pid <= 2; ++pid) {
    const int64_t call =
        trace.Call({.pid = pid, .tid = pid, .start = pid, .end = pid + 1, .stream = "0xa0"});
    trace.Kernel({.queue = 1, .start = 10 * pid, .end = 10 * pid + 5, .call = call});
  }
  const Timeline timeline = Read(trace);
  ASSERT_EQ(timeline.tracks.size(), 4U);
  EXPECT_EQ(timeline.tracks[0].title, "Stream 1, process 1");
  EXPECT_EQ(timeline.tracks[1].title, "Stream 1, process 2");
}

TEST(TimelineTest, ThreadsGoByTheirNames) {
  TestTrace trace;
  for (int64_t tid = 4711; tid < 4714; ++tid)
    trace.Call({.pid = 4711, .tid = tid, .start = tid, .end = tid + 1});
  store::TraceDatabase database = trace.Open();
  const auto added = database.connection().Run(
      "INSERT INTO rochound_process(session, pid, executable) VALUES (0, 4711, '/opt/train');"
      "INSERT INTO rochound_fact VALUES (0, 'thread', '4711,5,train'),"
      " (0, 'thread', '4712,70,loader, left'), (0, 'thread', '4713,0,train')");
  ASSERT_TRUE(added.ok()) << added.error().message;
  const auto timeline = ReadTimeline(database, 1000);
  ASSERT_TRUE(timeline.ok()) << timeline.error().message;
  EXPECT_EQ(timeline.value().tracks[0].title, "Main thread 4711");
  EXPECT_EQ(timeline.value().tracks[1].title, "loader, left (4712)");
  EXPECT_EQ(timeline.value().tracks[2].title, "Thread 4713");
}

TEST(TimelineTest, WhatNeverFinishedIsMarked) {
  TestTrace trace;
  const int64_t call = trace.Call({.start = 0, .end = 10});
  const int64_t wait = trace.Call({.start = 20, .end = 900, .name = "hipDeviceSynchronize"});
  trace.Kernel({.queue = 1, .start = 15, .end = 18, .name = "Good", .call = call});
  const int64_t hung =
      trace.Kernel({.queue = 1, .start = 18, .end = 900, .name = "Spin", .call = call});
  store::TraceDatabase database = trace.Open();
  const auto added =
      database.connection().Run("INSERT INTO rochound_unfinished VALUES ('kernel', " +
                                std::to_string(hung) + "), ('call', " + std::to_string(wait) + ")");
  ASSERT_TRUE(added.ok()) << added.error().message;
  const auto timeline = ReadTimeline(database, 1000);
  ASSERT_TRUE(timeline.ok()) << timeline.error().message;
  std::vector<std::string> unfinished;
  for (const TimelineEvent& event : timeline.value().events)
    if (event.unfinished) unfinished.push_back(timeline.value().names[event.name]);
  EXPECT_EQ(unfinished, (std::vector<std::string>{"Spin", "hipDeviceSynchronize"}));
  EXPECT_EQ(timeline.value().length, 900);
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
