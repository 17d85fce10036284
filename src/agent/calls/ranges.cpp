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

// False: nothing was written.
bool Write(RangeKind kind, std::string_view message, uint64_t range) {
  if (!Recording()) return false;
  ThreadState* thread = CurrentThread();
  if (thread == nullptr || thread->inside) return false;
  const uint64_t now = trace::ReadTsc();
  const Inside inside(thread);
  const uint32_t text = message.empty() ? 0 : Intern(message);
  auto* record = thread->log->Reserve<trace::Range>();
  if (record == nullptr) return false;
  record->now_tsc = now;
  record->range = range;
  record->correlation = thread->log->NextCorrelation();
  thread->log->Commit(record, static_cast<uint16_t>(kind), text);
  return true;
}

// A pop is written only if its push was: in the log each pop belongs to the last push of its depth,
// however often the recorder paused in between. Deeper than 64 nobody knows, and both are written.
uint64_t DepthBit(uint32_t depth) { return depth < 64 ? uint64_t{1} << depth : 0; }

}  // namespace

void RecordRange(RangeKind kind, const char* message, uint64_t range) {
  const std::string_view text = View(message);
  // The depth is counted whether we record or not, so that a pop finds the depth of its push.
  switch (kind) {
    case RangeKind::kPush:
      RangeBegins(text);
      if (Write(kind, text, call_state.range_depth))
        call_state.range_written |= DepthBit(call_state.range_depth);
      else
        call_state.range_written &= ~DepthBit(call_state.range_depth);
      ++call_state.range_depth;
      break;
    case RangeKind::kPop:
      if (call_state.range_depth == 0) break;  // pushed before we were loaded, or never
      --call_state.range_depth;
      if (const uint64_t bit = DepthBit(call_state.range_depth);
          bit == 0 || (call_state.range_written & bit) != 0)
        Write(kind, text, call_state.range_depth);
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
