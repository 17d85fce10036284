// SPDX-License-Identifier: MIT
//
// The list of what a process did and its trace does not show, or not as it was, with the reasons in
// words. Called by the joiner when a log has been read. A pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "store/convert/filter.h"
#include "store/convert/joined_events.h"
#include "trace/reader.h"

namespace rochound::store {

// What the joiner counts on its way.
struct JoinerCounts {
  uint64_t untimed_kernels = 0, untimed_copies = 0, doubtful_times = 0;
  uint64_t waited_for = 0;  // over, but when is not known
  uint64_t unfinished_kernels = 0, unfinished_copies = 0, unfinished_ranges = 0;
  uint64_t filtered_kernels = 0, filtered_calls = 0;
  uint64_t lost_calls = 0, calls_without_function = 0;
};

// filter: null keeps everything.
std::vector<LostEvents> ListLostEvents(const trace::ProcessLog& log, const JoinerCounts& counts,
                                       const Filter* filter);

}  // namespace rochound::store
