// SPDX-License-Identifier: MIT
//
// The question `critical-path`: the chain of host work, kernels, copies and waiting that led from
// the first event to the last (path_graph.h says what follows what), and how much slack kernels
// had. One thread. Holds all operations and outermost calls of the trace in compact arrays.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/host_ranges.h"
#include "analysis/host_threads.h"
#include "analysis/path_graph.h"
#include "analysis/questions.h"
#include "analysis/trace_rows.h"
#include "base/result.h"
#include "store/open/duck.h"

namespace rochound::analysis {

struct CriticalPath {
  Names names;
  Window window;
  HostThreads threads;
  PathGraph graph{{}};
  std::vector<int64_t> op_ids;  // by the graph's numbers of operations
  std::vector<uint32_t> op_names, op_types;
  std::vector<bool> op_waits;        // for a value in memory
  std::vector<uint32_t> call_names;  // by the graph's numbers of waiting calls; kNoName: of threads
  std::vector<uint32_t> main_threads;  // by thread: the main one of its process
  // Of operations and waiting calls that a function of the host ran before: the name of the call
  // that put it there.
  std::unordered_map<uint32_t, uint32_t> op_host_functions, call_host_functions;
};

// clock_error: as of StreamOrder and PathGraph. keep: edges, for PathGraph::EndWith.
base::Result<CriticalPath> AnalyzeCriticalPath(store::duck::Connection& connection,
                                               int64_t clock_error = kClockError,
                                               bool keep = false);

base::Result<Answer> AskCriticalPath(store::TraceDatabase& trace, const AskOptions& options);

}  // namespace rochound::analysis
