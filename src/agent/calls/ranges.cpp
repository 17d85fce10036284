// SPDX-License-Identifier: MIT
#include "agent/calls/ranges.h"

#include <cstring>
#include <string_view>

#include "agent/calls/call.h"
#include "agent/range_switch.h"
#include "agent/session.h"

namespace rochound::agent {

namespace {

using trace::RangeKind;

std::string_view View(const char* message) {
  return message == nullptr ? std::string_view{}
                            : std::string_view{message, strnlen(message, kMaxTextLength)};
}

void Write(RangeKind kind, std::string_view message, uint64_t range) {
  if (!Recording()) return;
  ThreadState* thread = CurrentThread();
  if (thread == nullptr || thread->inside) return;
  const uint64_t now = Tsc();
  const Inside inside(thread);
  const uint32_t text = message.empty() ? 0 : Intern(message);
  if (auto* record = thread->log->Reserve<trace::Range>()) {
    record->now_tsc = now;
    record->range = range;
    record->correlation = thread->log->NextCorrelation();
    thread->log->Commit(record, static_cast<uint16_t>(kind), text);
  }
}

}  // namespace

void RecordRange(RangeKind kind, const char* message, uint64_t range) {
  const std::string_view text = View(message);
  // The depth is counted whether we record or not, so that a pop finds the depth of its push.
  switch (kind) {
    case RangeKind::kPush:
      RangeBegins(text);
      Write(kind, text, call_state.range_depth++);
      break;
    case RangeKind::kPop:
      if (call_state.range_depth == 0) break;  // pushed before we were loaded, or never
      Write(kind, text, --call_state.range_depth);
      RangeEnds();
      break;
    case RangeKind::kStart:
      RangeBegins(text, range);
      Write(kind, text, range);
      break;
    case RangeKind::kStop:
      Write(kind, text, range);
      RangeEnds(range);
      break;
    case RangeKind::kMark:
      Write(kind, text, range);
      break;
  }
}

}  // namespace rochound::agent
