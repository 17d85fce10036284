// SPDX-License-Identifier: MIT
//
// Which range of the program encloses a time on a host thread: the innermost one that the thread
// began (roctx), whichever thread ends it, or the innermost operator or frame that a framework
// recorded. Times are given by thread and in order; each is cut where the innermost range changes.
// Used by `critical-path` to name what the program did outside HIP; one thread. Reads the trace
// once, and holds the ranges of one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/host_threads.h"
#include "analysis/trace_rows.h"
#include "base/result.h"
#include "store/open/duck.h"

namespace rochound::analysis {

struct HostTime {
  uint32_t thread = kNoThread;
  int64_t begin = 0, end = 0;
  uint32_t range = kNoName;  // a number of HostRanges::texts; kNoName: no range
};

struct HostRanges {
  std::vector<std::string> texts;
  std::vector<HostTime> times;  // in the order of thread and begin
};

// The times of a thread do not overlap.
base::Result<HostRanges> CutByRanges(store::duck::Connection& connection, const Names& names,
                                     const HostThreads& threads, std::vector<HostTime> times);

}  // namespace rochound::analysis
