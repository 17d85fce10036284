// SPDX-License-Identifier: MIT
//
// The program's own ranges and marks, whoever tells us about them: roctx or our C interface. Called
// on the program's thread; as cheap as a recorded call when the text was seen before.
#pragma once

#include <cstdint>

#include "trace/records.h"

namespace rochound::agent {

// `message` may be null; `range` is the id of a range that is started and stopped, and is not
// looked at for ranges that are pushed and popped: those are numbered by their depth on the thread.
void RecordRange(trace::RangeKind kind, const char* message, uint64_t range);

}  // namespace rochound::agent
