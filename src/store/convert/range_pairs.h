// SPDX-License-Identifier: MIT
//
// Puts the beginnings and ends of the program's ranges together, for the conversion of one
// process's log. Ranges that are pushed and popped nest on their thread and carry their depth; the
// recorder writes a pop only if it wrote its push, so a pop closes the last push of its depth,
// whatever was not recorded in between. Ranges that start and stop have an id and may do so on
// different threads, whose records come in either order. One thread; cannot fail.
//
// What has no end of its own is over by the next push or pop that is not inside of it, by the end
// of its thread, or by the end of the process. It is shown up to there, or up to the pause of the
// recording in which it may have ended, and marked as unfinished.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/reader.h"

namespace rochound::store {

class RangePairs {
 public:
  struct Range {
    int64_t tid = 0;
    uint64_t begin = 0, end = 0;  // ns
    std::string message;
    std::string_view name;      // UserMarker, UserRange
    std::string_view category;  // range, mark
    bool unfinished = false;
  };

  // pauses: of the process, in order; they outlive this. write: called with each range.
  RangePairs(const std::vector<trace::Unrecorded>& pauses, std::function<void(const Range&)> write)
      : pauses_(pauses), write_(std::move(write)) {}

  // In each thread's order.
  void Add(const trace::Event<trace::Range>& event, std::string_view message);
  void EndThread(uint32_t thread, uint64_t now);
  // Everything that is still open.
  void Finish(uint64_t end);

 private:
  struct Open {
    Range range;
    uint64_t depth = 0;
    uint64_t known_until = 0;  // when something inside it was seen last
  };

  void Leave(std::vector<Open>& stack, uint64_t depth, uint64_t now);
  void Close(Open& open, uint64_t end);
  void CloseUnfinished(Open& open, uint64_t end);

  const std::vector<trace::Unrecorded>& pauses_;
  const std::function<void(const Range&)> write_;
  std::unordered_map<uint32_t, std::vector<Open>> pushed_;  // by thread, outermost first
  std::unordered_map<uint64_t, Open> started_;              // by id
  std::unordered_map<uint64_t, uint64_t> stopped_;          // whose start was not seen yet: when
};

}  // namespace rochound::store
