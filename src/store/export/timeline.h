// SPDX-License-Identifier: MIT
//
// An open trace as viewers want it: tracks, and on each the things that happened in the order they
// began, with enough lanes that nothing on a lane overlaps what does not enclose it. Streamed from
// the trace in the memory of what is open at one time. Used by the exports to Perfetto and to
// Chrome's format; one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/open/trace_database.h"

namespace rochound::store {

// A call, or a range of the program's own.
struct TimelineCall {
  int64_t id, pid, tid, start, end;
  std::string_view domain, category, name, args;
  // Ranges that end anywhere do not nest: they are on tracks of their own, beside the thread's.
  bool nests;
  size_t lane;
  // The operations that it started and that began after it did.
  std::span<const int64_t> operations;
};

struct TimelineOperation {
  int64_t id, gpu, queue, sequence, start, end;
  std::string_view name, type;
  size_t lane;
  int64_t call;  // 0: none is known that began before it
  bool is_kernel, is_copy;
  int64_t grid[3], workgroup[3], group_bytes, private_bytes;
  int64_t size;
};

class TimelineVisitor {
 public:
  virtual ~TimelineVisitor() = default;
  // Each of these comes before what happens on it.
  virtual void OnProcess(int64_t pid, const std::string& name) = 0;
  virtual void OnThread(int64_t pid, int64_t tid) = 0;
  virtual void OnGpu(int64_t gpu, const std::string& name) = 0;
  virtual void OnQueue(int64_t gpu, int64_t queue) = 0;
  // Track by track, on each by start, then the longest first.
  virtual void OnCall(const TimelineCall& call) = 0;
  virtual void OnOperation(const TimelineOperation& operation) = 0;
  // How many operations a queue has been given and not finished, and how many a GPU runs, from
  // `time` on. Each queue's and each GPU's in the order of time.
  virtual void OnQueueDepth(int64_t gpu, int64_t queue, int64_t time, int64_t depth) = 0;
  virtual void OnRunning(int64_t gpu, int64_t time, int64_t count) = 0;
  // True: nothing more is wanted, for instance because the disk is full.
  virtual bool Enough() { return false; }
};

base::Result<void> WalkTimeline(TraceDatabase& trace, TimelineVisitor& visitor);

// The first lane on which an event has room, given what was there before. Only times that cannot be
// fill all lanes; what is left then overlaps on the last.
class Lanes {
 public:
  static constexpr size_t kMost = 256;
  explicit Lanes(bool nesting) : nesting_(nesting) {}
  size_t Place(int64_t start, int64_t end);
  void Clear() { open_.clear(); }

 private:
  bool nesting_;
  std::vector<std::vector<int64_t>> open_;  // ends, of each lane
};

}  // namespace rochound::store
