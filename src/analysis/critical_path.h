// SPDX-License-Identifier: MIT
//
// The question `critical-path`: the chain of host work, kernels, copies and waiting that led from
// the first event to the last (path_graph.h says what follows what), and how much slack kernels
// had. One thread. Holds all operations and outermost calls of the trace in compact arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/host_threads.h"
#include "analysis/path_graph.h"
#include "analysis/questions.h"
#include "analysis/trace_rows.h"
#include "base/result.h"
#include "store/duck.h"

namespace rochound::analysis {

struct CriticalPath {
  Names names;
  Window window;
  HostThreads threads;
  PathGraph graph{{}};
  std::vector<int64_t> op_ids;  // by the graph's numbers of operations
  std::vector<uint32_t> op_names, op_types;
  std::vector<uint32_t> call_names;  // by the graph's numbers of blocking calls
};

base::Result<CriticalPath> AnalyzeCriticalPath(store::duck::Connection& connection);

base::Result<Answer> AskCriticalPath(store::TraceDatabase& trace, const AskOptions& options);

}  // namespace rochound::analysis
