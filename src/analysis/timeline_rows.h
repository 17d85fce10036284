// SPDX-License-Identifier: MIT
//
// Puts the events of a track into rows so that none overlap, and merges neighbours when there are
// too many events in all. Calls of a thread come out by depth, because a call's callers hold the
// rows above it. The part of timeline.h that needs no trace. One thread; cannot fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/timeline.h"

namespace rochound::analysis {

class TimelineRows {
 public:
  explicit TimelineRows(uint64_t most_events) : most_events_(most_events) {}

  // Starts a new track. Its events must come by start.
  void BeginTrack();
  void Add(TimelineEvent event);

  int64_t quantum() const { return quantum_; }
  size_t tracks() const { return tracks_.size(); }

  // Moves everything into one list, and the rows' lengths into the tracks, which are as many as
  // were begun.
  void Finish(std::vector<TimelineTrack>& tracks, std::vector<TimelineEvent>& events);

 private:
  struct Placed {
    TimelineEvent event;
    int64_t longest = 0;  // duration of the event that gave the name
  };
  using Row = std::vector<Placed>;

  // Appends to a row, or merges with its last event. True: the row is longer now.
  bool Put(Row& row, const Placed& placed) const;
  void Thin();

  const uint64_t most_events_;
  uint64_t kept_ = 0;
  int64_t quantum_ = 0;
  std::vector<std::vector<Row>> tracks_;
};

}  // namespace rochound::analysis
