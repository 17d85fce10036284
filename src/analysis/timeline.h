// SPDX-License-Identifier: MIT
//
// Everything that happened, in the shape in which it is drawn: tracks (a queue of a GPU, a thread
// of a process), in each track rows, in each row events that do not overlap. Made for the report
// from an open trace, on one thread; owns its data. A trace with more events than asked for is
// thinned: neighbours of a row become one event that says how many it stands for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/facts.h"
#include "base/result.h"
#include "store/trace_database.h"

namespace rochound::analysis {

struct TimelineEvent {
  int64_t start = 0, end = 0;  // ns since the trace's begin
  int64_t id = 0;              // of rocpd_op or rocpd_api
  // Of an operation: the call that launched it, as an index into all events; -1: none is known.
  int64_t launch = -1;
  uint32_t name = 0;
  uint32_t merged = 1;  // events that it stands for; the name is the longest one's
};

struct TimelineTrack {
  enum class Kind { kQueue, kThread };
  Kind kind = Kind::kQueue;
  int64_t gpu = -1;            // of a queue
  std::string title;           // "Queue 1"
  std::string group;           // "GPU 0"
  std::vector<uint64_t> rows;  // how many events each row has
};

struct Timeline {
  Facts facts{};        // before thinning
  int64_t quantum = 0;  // merged events are no longer than this; 0: not thinned
  std::vector<std::string> names;
  std::vector<TimelineTrack> tracks;
  std::vector<TimelineEvent> events;  // track by track, row by row, by start
};

// most_events: what is kept at most. Of very many rows each keeps at least one event.
base::Result<Timeline> ReadTimeline(store::TraceDatabase& trace, uint64_t most_events);

}  // namespace rochound::analysis
