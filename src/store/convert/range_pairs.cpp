// SPDX-License-Identifier: MIT
#include "store/convert/range_pairs.h"

#include <algorithm>

namespace rochound::store {
namespace {

constexpr size_t kMostStopped = 1 << 16;

}  // namespace

void RangePairs::Add(const trace::Event<trace::Range>& event, std::string_view message) {
  const uint64_t now = event.begin_ns;
  const auto kind = static_cast<trace::RangeKind>(event.record.head.small);
  const bool nests = kind == trace::RangeKind::kPush || kind == trace::RangeKind::kMark;
  const auto open = [&] {
    return Open{{.tid = event.thread.tid,
                 .begin = now,
                 .end = now,
                 .message = std::string(message),
                 .name = nests ? "UserMarker" : "UserRange",
                 .category = kind == trace::RangeKind::kMark ? "mark" : "range"},
                event.record.range,
                now};
  };
  switch (kind) {
    case trace::RangeKind::kPush: {
      std::vector<Open>& stack = pushed_[event.thread.index];
      Leave(stack, event.record.range, now);
      stack.push_back(open());
      break;
    }
    case trace::RangeKind::kPop: {
      std::vector<Open>& stack = pushed_[event.thread.index];
      Leave(stack, event.record.range + 1, now);
      // Otherwise its push was not recorded.
      if (stack.empty() || stack.back().depth != event.record.range) break;
      Close(stack.back(), now);
      stack.pop_back();
      break;
    }
    case trace::RangeKind::kMark:
      write_(open().range);
      break;
    case trace::RangeKind::kStart: {
      const auto stopped = stopped_.find(event.record.range);
      Open fresh = open();
      if (stopped == stopped_.end()) {
        started_[event.record.range] = std::move(fresh);
      } else {
        Close(fresh, stopped->second);
        stopped_.erase(stopped);
      }
      break;
    }
    case trace::RangeKind::kStop: {
      const auto started = started_.find(event.record.range);
      if (started != started_.end()) {
        Close(started->second, now);
        started_.erase(started);
      } else if (stopped_.size() < kMostStopped) {
        stopped_[event.record.range] = now;
      }
      break;
    }
  }
}

// What is not below this depth is over: the recorder was paused when it ended.
void RangePairs::Leave(std::vector<Open>& stack, uint64_t depth, uint64_t now) {
  for (; !stack.empty() && stack.back().depth >= depth; stack.pop_back())
    CloseUnfinished(stack.back(), now);
  for (Open& open : stack) open.known_until = now;
}

void RangePairs::Close(Open& open, uint64_t end) {
  open.range.end = std::max(open.range.begin, end);
  write_(open.range);
}

void RangePairs::CloseUnfinished(Open& open, uint64_t end) {
  const auto pause = std::upper_bound(
      pauses_.begin(), pauses_.end(), open.known_until,
      [](uint64_t time, const trace::Unrecorded& one) { return time < one.end_ns; });
  if (pause != pauses_.end()) end = std::min(end, std::max(pause->begin_ns, open.known_until));
  open.range.unfinished = true;
  Close(open, end);
}

void RangePairs::EndThread(uint32_t thread, uint64_t now) {
  const auto stack = pushed_.find(thread);
  if (stack == pushed_.end()) return;
  Leave(stack->second, 0, now);
  pushed_.erase(stack);
}

void RangePairs::Finish(uint64_t end) {
  for (auto& [thread, stack] : pushed_) Leave(stack, 0, end);
  for (auto& [id, open] : started_) CloseUnfinished(open, end);
  pushed_.clear();
  started_.clear();
}

}  // namespace rochound::store
