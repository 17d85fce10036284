// SPDX-License-Identifier: MIT
#include "analysis/host_activity.h"

namespace rochound::analysis {

void RangeTimeline::Add(int64_t pid, int64_t tid, int64_t start, int64_t end, uint32_t name) {
  if (threads_.empty() || threads_.back().pid != pid || threads_.back().tid != tid) {
    Finish();
    threads_.push_back({pid, tid, changes_.size(), changes_.size()});
  }
  CloseUntil(start);
  if (start >= end) return;  // a mark, not a range
  open_.push_back({end, name});
  Changed(start, name);
}

void RangeTimeline::CloseUntil(int64_t time) {
  while (!open_.empty() && open_.back().end <= time) {
    const int64_t end = open_.back().end;
    while (!open_.empty() && open_.back().end <= end) open_.pop_back();
    Changed(end, open_.empty() ? kNoName : open_.back().name);
  }
}

void RangeTimeline::Changed(int64_t time, uint32_t name) {
  Thread& thread = threads_.back();
  if (thread.last > thread.first && changes_.back().time == time) {
    changes_.back().name = name;
  } else {
    changes_.push_back({time, name});
    thread.last = changes_.size();
  }
}

uint32_t RangeTimeline::Find(int64_t pid, int64_t tid) const {
  const auto found = std::lower_bound(threads_.begin(), threads_.end(), std::pair(pid, tid),
                                      [](const Thread& thread, const auto& key) {
                                        return std::pair(thread.pid, thread.tid) < key;
                                      });
  if (found == threads_.end() || found->pid != pid || found->tid != tid) return kNoThread;
  return found->first == found->last ? kNoThread : static_cast<uint32_t>(found - threads_.begin());
}

HostActivity::HostActivity(const HostThreads& threads, const RangeTimeline& ranges,
                           std::vector<Activity> kinds)
    : threads_(threads), ranges_(ranges), kinds_(std::move(kinds)) {
  uint32_t main = 0;
  for (uint32_t i = 0; i < threads.threads().size(); ++i) {
    const HostThread& thread = threads.threads()[i];
    Life life{INT64_MAX, kNoThread, ranges.Find(thread.pid, thread.tid)};
    if (thread.first < thread.last) life.begin = threads.start(thread.first);
    if (life.ranges != kNoThread) life.begin = std::min(life.begin, ranges.Begin(life.ranges));
    lives_.push_back(life);
    if (i == 0 || threads.threads()[main].pid != thread.pid || life.begin < lives_[main].begin)
      main = i;
    // Threads are ordered by process: the process is complete when the next one is another's.
    const bool last_of_process =
        i + 1 == threads.threads().size() || threads.threads()[i + 1].pid != thread.pid;
    if (!last_of_process) continue;
    for (uint32_t j = i + 1; j-- > 0 && threads.threads()[j].pid == thread.pid;)
      lives_[j].main = main;
  }
}

HostActivity::Wait HostActivity::LastWait(uint32_t thread, int64_t begin, int64_t end,
                                          int64_t dry) const {
  Wait wait;
  threads_.Overlaps(thread, begin, end, [&](size_t call, int64_t /*ns*/) {
    const Activity kind = KindOf(thread, call);
    const bool waits = kind == Activity::kSync || kind == Activity::kReadBack ||
                       (kind == Activity::kWaitsToo && threads_.start(call) < dry);
    if (!waits) return;
    wait = {threads_.name(call), threads_.start(call), kind == Activity::kReadBack};
  });
  return wait;
}

uint32_t HostActivity::RangeAt(uint32_t thread, int64_t time) const {
  uint32_t name = kNoName;
  if (lives_[thread].ranges != kNoThread)
    ranges_.ForEach(lives_[thread].ranges, time, time + 1,
                    [&](uint32_t range, int64_t /*from*/, int64_t /*to*/) { name = range; });
  return name;
}

}  // namespace rochound::analysis
