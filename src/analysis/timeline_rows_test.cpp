// SPDX-License-Identifier: MIT
#include "analysis/timeline_rows.h"

#include <gtest/gtest.h>

#include <random>

namespace rochound::analysis {
namespace {

TimelineEvent Event(int64_t start, int64_t end, uint32_t name = 0) {
  return {start, end, start, -1, name, 1};
}

struct Result {
  std::vector<TimelineTrack> tracks;
  std::vector<TimelineEvent> events;
};

Result Finish(TimelineRows& rows) {
  Result result;
  result.tracks.resize(rows.tracks());
  rows.Finish(result.tracks, result.events);
  return result;
}

TEST(TimelineRowsTest, CallsStandBelowTheirCallers) {
  TimelineRows rows(100);
  rows.BeginTrack();
  for (const auto& [start, end] :
       {std::pair{0, 100}, {10, 40}, {20, 30}, {40, 90}, {50, 60}, {100, 120}})
    rows.Add(Event(start, end));
  const Result result = Finish(rows);
  EXPECT_EQ(result.tracks[0].rows, (std::vector<uint64_t>{2, 2, 2}));
  EXPECT_EQ(result.events[1].start, 100);
  EXPECT_EQ(result.events[3].start, 40);
  EXPECT_EQ(result.events[5].start, 50);
}

TEST(TimelineRowsTest, NothingOverlapsAndNothingIsLostByThinning) {
  std::mt19937 random(4);
  for (const uint64_t most : {50, 400, 100000}) {
    TimelineRows rows(most);
    uint64_t added = 0;
    for (int track = 0; track < 3; ++track) {
      rows.BeginTrack();
      int64_t time = 0;
      for (int i = 0; i < 2000; ++i, ++added) {
        time += static_cast<int64_t>(random() % 300);
        const int64_t length = random() % 50 == 0 ? 100000 : static_cast<int64_t>(random() % 500);
        rows.Add(Event(time, time + length, static_cast<uint32_t>(random() % 5)));
      }
    }
    const int64_t quantum = rows.quantum();
    EXPECT_EQ(quantum > 0, most < added);
    const Result result = Finish(rows);
    uint64_t stand_for = 0;
    size_t at = 0, all_rows = 0;
    for (const TimelineTrack& track : result.tracks) {
      for (const uint64_t row : track.rows) {
        ++all_rows;
        for (uint64_t i = 0; i < row; ++i, ++at) {
          const TimelineEvent& event = result.events[at];
          if (i > 0) {
            EXPECT_GE(event.start, result.events[at - 1].end);
          }
          if (event.merged > 1) {
            EXPECT_LE(event.end - event.start, quantum);
          }
          stand_for += event.merged;
        }
      }
    }
    EXPECT_EQ(at, result.events.size());
    EXPECT_EQ(stand_for, added);
    EXPECT_LE(result.events.size(), std::max<size_t>(most, 3 * all_rows));
  }
}

TEST(TimelineRowsTest, TheLongestGivesItsName) {
  TimelineRows rows(4);
  rows.BeginTrack();
  for (int64_t i = 0; i < 8; ++i) {
    rows.Add(Event(i * 10, i * 10 + (i == 5 ? 9 : 3), static_cast<uint32_t>(i)));
  }
  const Result result = Finish(rows);
  ASSERT_EQ(result.events.size(), 1U);
  EXPECT_EQ(result.events[0].merged, 8U);
  EXPECT_EQ(result.events[0].name, 5U);
}

TEST(TimelineRowsTest, AnEventThatEndsBeforeItStartsIsEmpty) {
  TimelineRows rows(10);
  rows.BeginTrack();
  rows.Add(Event(50, 20));
  rows.Add(Event(50, 60));
  const Result result = Finish(rows);
  EXPECT_EQ(result.tracks[0].rows, (std::vector<uint64_t>{2}));
  EXPECT_EQ(result.events[0].end, 50);
}

}  // namespace
}  // namespace rochound::analysis
