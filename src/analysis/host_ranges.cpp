// SPDX-License-Identifier: MIT
#include "analysis/host_ranges.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace rochound::analysis {
namespace {

using base::Result;
using store::duck::Connection;
using store::duck::Rows;

// Where the innermost range of a thread changes.
class Changes {
 public:
  void Push(int64_t start, int64_t end, uint32_t name) {
    Close(start);
    open_.push_back({end, name});
    Add(start, name);
  }
  // Cuts the thread's times, and forgets the thread.
  void Cut(std::vector<HostTime>::const_iterator from, std::vector<HostTime>::const_iterator to,
           std::vector<HostTime>& out) {
    Close(INT64_MAX);
    size_t at = 0;
    uint32_t range = kNoName;
    for (; from != to; ++from) {
      while (at < changes_.size() && changes_[at].first <= from->begin)
        range = changes_[at++].second;
      HostTime time = *from;
      while (at < changes_.size() && changes_[at].first < from->end) {
        time.range = range;
        time.end = changes_[at].first;
        if (time.end > time.begin) out.push_back(time);
        time.begin = time.end;
        range = changes_[at++].second;
      }
      time.end = from->end;
      time.range = range;
      if (time.end > time.begin) out.push_back(time);
    }
    changes_.clear();
    open_.clear();
  }

 private:
  void Close(int64_t time) {
    while (!open_.empty() && open_.back().first <= time) {
      const int64_t end = open_.back().first;
      open_.pop_back();
      while (!open_.empty() && open_.back().first <= end) open_.pop_back();
      Add(end, open_.empty() ? kNoName : open_.back().second);
    }
  }
  void Add(int64_t time, uint32_t name) {
    if (!changes_.empty() && changes_.back().first >= time) {
      changes_.back().second = name;
      return;
    }
    changes_.emplace_back(time, name);
  }

  std::vector<std::pair<int64_t, uint32_t>> changes_;  // and the innermost range from then on
  std::vector<std::pair<int64_t, uint32_t>> open_;     // end and name, innermost last
};

}  // namespace

Result<HostRanges> CutByRanges(Connection& connection, const Names& names,
                               const HostThreads& threads, std::vector<HostTime> times) {
  HostRanges ranges;
  std::sort(times.begin(), times.end(), [](const HostTime& a, const HostTime& b) {
    return std::tie(a.thread, a.begin) < std::tie(b.thread, b.begin);
  });
  std::unordered_map<std::string, uint32_t> known;
  Changes changes;
  auto next = times.cbegin();
  uint32_t thread = kNoThread;
  const auto finish = [&](uint32_t up_to) {  // threads before this one
    for (; next != times.cend() && next->thread < up_to;) {
      auto last = next;
      while (last != times.cend() && last->thread == next->thread) ++last;
      if (next->thread == thread) {
        changes.Cut(next, last, ranges.times);
      } else {
        Changes().Cut(next, last, ranges.times);
      }
      next = last;
    }
    if (thread < up_to) changes = {};
  };
  const std::string marks = names.IdsWhere(IsMarkDomain);
  ROCHOUND_TRY(Rows rows, connection.Query(
                              "SELECT a.pid, a.tid, a.start, a.\"end\", " + RangeName("u.string") +
                              " FROM rocpd_api a JOIN rocpd_ustring u ON u.id = a.args_id"
                              " WHERE a.domain_id IN (" +
                              marks +
                              ") AND a.\"end\" > a.start"
                              " ORDER BY a.pid, a.tid, a.start, a.\"end\" DESC, a.id"));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) break;
    const uint32_t here = threads.Find(rows.Int(0), rows.Int(1));
    if (here == kNoThread) continue;
    if (here != thread) {
      finish(here);
      thread = here;
    }
    const auto [at, is_new] =
        known.emplace(std::string(rows.Text(4)), static_cast<uint32_t>(ranges.texts.size()));
    if (is_new) ranges.texts.push_back(at->first);
    changes.Push(rows.Int(2), rows.Int(3), at->second);
  }
  finish(kNoThread);
  return ranges;
}

}  // namespace rochound::analysis
