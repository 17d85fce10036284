// SPDX-License-Identifier: MIT
//
// Everything that happened, in the shape in which it is drawn: tracks (a HIP stream or a queue of a
// GPU, a thread of a process), in each track rows, in each row events that do not overlap. Made for
// the report from an open trace, on one thread; owns its data. A trace with more events than asked
// for is thinned: neighbours of a row become one event that says how many it stands for.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/trace_facts.h"
#include "base/result.h"
#include "store/open/trace_database.h"

namespace rochound::analysis {

struct TimelineEvent {
  int64_t start = 0, end = 0;  // ns since the trace's begin
  int64_t id = 0;              // of rocpd_op or rocpd_api
  // Of an operation: the call that launched it, as an index into all events; -1: none is known.
  int64_t launch = -1;
  uint32_t name = 0;
  uint32_t merged = 1;      // events that it stands for; the name is the longest one's
  bool unfinished = false;  // it had not ended when its process did, or when recording stopped
  uint32_t shape = 0;       // of a kernel: a number of Timeline::shapes; 0: not known
};

struct TimelineShape {
  std::array<int64_t, 3> grid{}, workgroup{};  // work items
  int64_t lds = 0;                             // bytes of a workgroup
  auto operator<=>(const TimelineShape&) const = default;
};

struct TimelineTrack {
  enum class Kind { kGpu, kThread };
  Kind kind = Kind::kGpu;
  int64_t gpu = -1;
  std::string title{};           // "Stream 7", "Queue 1", "Main thread 4711"
  std::string group{};           // "GPU 0"
  std::string note{};            // of a stream: its handle and the queues that it used
  std::vector<uint64_t> rows{};  // how many events each row has
};

struct Timeline {
  Facts facts{};        // before thinning
  int64_t length = 0;   // ns from the first event to the last, pauses of the recording included
  int64_t quantum = 0;  // merged events are no longer than this; 0: not thinned
  std::vector<std::string> names;
  std::vector<TimelineShape> shapes{{}};  // of kernels; the first one is no shape
  std::vector<TimelineTrack> tracks;
  std::vector<TimelineEvent> events;  // track by track, row by row, by start
};

// What has a track of its own on a GPU. Operations whose stream is not known go by their queue.
enum class Lanes { kStreams, kQueues };

std::string GpuName(int64_t gpu);  // "GPU 0", "GPU 0, node 1"

// most_events: what is kept at most. Of very many rows each keeps at least one event.
base::Result<Timeline> ReadTimeline(store::TraceDatabase& trace, uint64_t most_events,
                                    Lanes lanes = Lanes::kStreams);

}  // namespace rochound::analysis
