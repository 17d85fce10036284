// SPDX-License-Identifier: MIT
//
// What a host thread was doing at any time: in which runtime call, of which kind, or outside the
// runtime and within which range of the program. Built on the outermost calls of host_threads.h;
// filled once, then constant. Used by `idle`; one thread; cannot fail.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/host_threads.h"

namespace rochound::analysis {

enum class Activity : uint8_t {
  kOutside,       // no runtime call; what: the innermost range, or kNoName
  kCall,          // a call of no other kind; what: its name, as for all that follow
  kSync,          // a call that waits for the GPU
  kReadBack,      // likewise, for a few bytes that kernels computed (.item() and its like)
  kWaitsToo,      // a call of no other kind that waits for the GPU by the way (hipFree)
  kHostFunction,  // a call that waits for a function of the program on a stream
  kLoading,       // a call that loaded code
  kSetUp,         // a call that initialised the runtime or made a queue
};

// The innermost range of each thread over time, for times that are asked in any order
// (host_ranges.h needs them in order, and less memory). Ranges come by pid, tid, start, end
// (descending); those that are not within each other are ordered by their start: the later one is
// the inner one.
class RangeTimeline {
 public:
  void Add(int64_t pid, int64_t tid, int64_t start, int64_t end, uint32_t name);
  void Finish() { CloseUntil(INT64_MAX); }

  // The thread by its number here; kNoThread: it has no ranges.
  uint32_t Find(int64_t pid, int64_t tid) const;
  // When the thread's first range began.
  int64_t Begin(uint32_t thread) const { return changes_[threads_[thread].first].time; }

  // Calls visit(name, from, to) for each part of [begin, end) with one innermost range or none.
  template <typename Visit>
  void ForEach(uint32_t thread, int64_t begin, int64_t end, const Visit& visit) const {
    const auto first = changes_.begin() + static_cast<ptrdiff_t>(threads_[thread].first);
    const auto last = changes_.begin() + static_cast<ptrdiff_t>(threads_[thread].last);
    auto next = std::upper_bound(
        first, last, begin, [](int64_t time, const Change& change) { return time < change.time; });
    uint32_t name = next == first ? kNoName : (next - 1)->name;
    for (int64_t from = begin; from < end;) {
      const int64_t to = next == last ? end : std::min(next->time, end);
      if (to > from) visit(name, from, to);
      from = to;
      if (next != last && next->time == to) name = (next++)->name;
    }
  }

 private:
  struct Change {
    int64_t time;
    uint32_t name;  // of the innermost range from now on
  };
  struct Thread {
    int64_t pid, tid;
    size_t first, last;  // its changes
  };
  struct Open {
    int64_t end;
    uint32_t name;
  };

  void CloseUntil(int64_t time);
  void Changed(int64_t time, uint32_t name);

  std::vector<Thread> threads_;
  std::vector<Change> changes_;
  std::vector<Open> open_;
};

class HostActivity {
 public:
  // kinds: by name, what calls of that name are; names beyond it are plain calls. Both references
  // outlive this.
  HostActivity(const HostThreads& threads, const RangeTimeline& ranges,
               std::vector<Activity> kinds);

  // One call is of another kind than its name says.
  void SetKind(uint32_t thread, int64_t start, Activity kind) {
    exceptions_[{thread, start}] = kind;
  }

  struct Wait {
    uint32_t name = kNoName;  // kNoName: there was none
    int64_t start = 0;        // of the call
    bool read_back = false;
  };
  // The thread's last call within [begin, end) that waits for the GPU, which ran dry at this time: a
  // call that waits by the way counts only if it was in flight then.
  Wait LastWait(uint32_t thread, int64_t begin, int64_t end, int64_t dry) const;
  // The innermost range that the thread was in; kNoName: none.
  uint32_t RangeAt(uint32_t thread, int64_t time) const;

  // Calls visit(activity, what, from, to) for each part of [begin, end), in order and without a
  // gap. Before a thread did anything, the first thread of its process speaks for it.
  template <typename Visit>
  void ForEach(uint32_t thread, int64_t begin, int64_t end, const Visit& visit) const {
    const Life& life = lives_[thread];
    if (begin < life.begin && life.main != thread) {
      const int64_t born = std::min(life.begin, end);
      Own(life.main, begin, born, visit);
      begin = born;
    }
    Own(thread, begin, end, visit);
  }

 private:
  struct Life {
    int64_t begin;  // of the first thing that the thread did
    uint32_t main;  // the process's first thread
    uint32_t ranges;
  };
  struct Hash {
    size_t operator()(const std::pair<uint32_t, int64_t>& key) const {
      return static_cast<size_t>(key.second) * 0x9E3779B97F4A7C15u ^ key.first;
    }
  };

  Activity KindOf(uint32_t thread, size_t call) const {
    if (!exceptions_.empty()) {
      const auto found = exceptions_.find({thread, threads_.start(call)});
      if (found != exceptions_.end()) return found->second;
    }
    const uint32_t name = threads_.name(call);
    return name < kinds_.size() ? kinds_[name] : Activity::kCall;
  }

  template <typename Visit>
  void Own(uint32_t thread, int64_t begin, int64_t end, const Visit& visit) const {
    int64_t done = begin;
    threads_.Overlaps(thread, begin, end, [&](size_t call, int64_t ns) {
      const int64_t from = std::max(threads_.start(call), begin);
      Outside(thread, done, from, visit);
      visit(KindOf(thread, call), threads_.name(call), from, from + ns);
      done = from + ns;
    });
    Outside(thread, done, end, visit);
  }

  template <typename Visit>
  void Outside(uint32_t thread, int64_t begin, int64_t end, const Visit& visit) const {
    if (begin >= end) return;
    const uint32_t ranges = lives_[thread].ranges;
    if (ranges == kNoThread) return visit(Activity::kOutside, kNoName, begin, end);
    ranges_.ForEach(ranges, begin, end, [&](uint32_t name, int64_t from, int64_t to) {
      visit(Activity::kOutside, name, from, to);
    });
  }

  const HostThreads& threads_;
  const RangeTimeline& ranges_;
  std::vector<Activity> kinds_;
  std::vector<Life> lives_;  // by thread
  std::unordered_map<std::pair<uint32_t, int64_t>, Activity, Hash> exceptions_;
};

}  // namespace rochound::analysis
