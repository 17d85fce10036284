// SPDX-License-Identifier: MIT
//
// What is wrong with a trace: lost records, GPU times that are missing, clocks that disagree, times
// without GPU work. Every answer begins with the doubts; the question `health` tells all of it.
#pragma once

#include <string>
#include <vector>

#include "analysis/answer.h"
#include "base/result.h"
#include "store/open/trace_database.h"

namespace rochound::analysis {

struct AskOptions;

// A line per kind of loss, worst first; empty: nothing is known to be wrong. Looks only at what is
// quickly found, so that no question gets slower by it.
base::Result<std::vector<std::string>> Doubts(store::TraceDatabase& trace);

base::Result<Answer> AskHealth(store::TraceDatabase& trace, const AskOptions& options);

}  // namespace rochound::analysis
