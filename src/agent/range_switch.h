// SPDX-License-Identifier: MIT
//
// ROCHOUND_RANGE: the recorder runs only inside the program's ranges of one name. Told about every
// range by whoever learns of it (roctx, the C interface), on the program's thread; one load when no
// range is named. A range that is to be recorded itself begins before its record is written and
// ends after.
#pragma once

#include <cstdint>
#include <string_view>

namespace rochound::agent {

// The name that counts; a trailing * stands for any rest, and an empty name for no such wish. Once,
// before any range.
void RecordOnlyInRange(std::string_view name);

// A range that this thread pushes and pops. What is nested in one that counts goes on counting.
void RangeBegins(std::string_view name);
void RangeEnds();

// A range that has an id and may end on another thread.
void RangeBegins(std::string_view name, uint64_t id);
void RangeEnds(uint64_t id);

// In a forked child: the ranges of the threads that are not there any more have ended.
void ForgetRangesAfterFork();

}  // namespace rochound::agent
