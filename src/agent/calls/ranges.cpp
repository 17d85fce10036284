// SPDX-License-Identifier: MIT
#include "agent/calls/ranges.h"

#include <atomic>
#include <cstring>

#include "agent/calls/call.h"
#include "agent/session.h"

namespace rochound::agent {

namespace {
constinit std::atomic<RangeObserver> range_observer{nullptr};
}

void SetRangeObserver(RangeObserver observer) { range_observer.store(observer); }

void RecordRange(trace::RangeKind kind, const char* message, uint64_t range) {
  // Counted whether we record or not, so that a pop finds the depth of its push.
  if (kind == trace::RangeKind::kPush) {
    range = call_state.range_depth++;
  } else if (kind == trace::RangeKind::kPop) {
    if (call_state.range_depth == 0) return;  // pushed before we were loaded, or never
    range = --call_state.range_depth;
  }
  if (const RangeObserver observer = range_observer.load(std::memory_order_relaxed))
    observer(kind, message, range);
  if (!Recording()) return;
  ThreadState* thread = CurrentThread();
  if (thread == nullptr || thread->inside) return;
  const uint64_t now = Tsc();
  const Inside inside(thread);
  const uint32_t text =
      message == nullptr ? 0 : Intern({message, strnlen(message, kMaxTextLength)});
  if (auto* record = thread->log->Reserve<trace::Range>()) {
    record->now_tsc = now;
    record->range = range;
    record->correlation = thread->log->NextCorrelation();
    thread->log->Commit(record, static_cast<uint16_t>(kind), text);
  }
}

}  // namespace rochound::agent
