// SPDX-License-Identifier: MIT
//
// What a program calls by itself, through include/rochound/rochound.h or from Python: start, stop
// and marks. The first call may come before the HSA runtime has loaded us, and then sets us up.
// These names and types are fixed: programs that were built long ago call them.
#include "agent/calls/ranges.h"
#include "agent/session.h"
#include "agent/state.h"

namespace {

using namespace rochound::agent;
using rochound::trace::RangeKind;

void RecordOwnRange(RangeKind kind, const char* text) {
  if (CurrentState() == State::kOff) SetUp();
  Guarded("no memory for a range", [&] { RecordRange(kind, text, 0); });
}

}  // namespace

#define ROCHOUND_EXPORT __attribute__((visibility("default")))

extern "C" {

// Before set-up, so that nothing is missed between the two.
ROCHOUND_EXPORT void rochound_start() {
  StartByProgram();
  SetUp();
}

ROCHOUND_EXPORT void rochound_stop() { StopByProgram(); }

ROCHOUND_EXPORT void rochound_flush() {
  if (SetUp()) Flush();
}

ROCHOUND_EXPORT void rochound_range_push(const char* name) {
  RecordOwnRange(RangeKind::kPush, name);
}

ROCHOUND_EXPORT void rochound_range_pop() { RecordOwnRange(RangeKind::kPop, nullptr); }

ROCHOUND_EXPORT void rochound_mark(const char* text) { RecordOwnRange(RangeKind::kMark, text); }

ROCHOUND_EXPORT int rochound_is_recording() { return Recording() ? 1 : 0; }

}  // extern "C"
