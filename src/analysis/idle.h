// SPDX-License-Identifier: MIT
//
// The question `idle`: every gap of every queue by cause (idle_sweep.h), with the host call that
// ran meanwhile. One thread. Memory: 20 bytes per runtime call, 16 per operation that depended on
// another queue, and what DuckDB sorts, which goes to disk beyond its limit.
#pragma once

#include <memory>

#include "analysis/idle_sweep.h"
#include "analysis/questions.h"
#include "analysis/trace_rows.h"
#include "base/result.h"
#include "store/duck.h"

namespace rochound::analysis {

struct Idle {
  Names names;
  Window window;
  HostThreads threads;
  std::unique_ptr<IdleSweep> sweep;
};

// longest: how many gaps are kept.
base::Result<Idle> AnalyzeIdle(store::duck::Connection& connection, size_t longest);

base::Result<Answer> AskIdle(store::TraceDatabase& trace, const AskOptions& options);

}  // namespace rochound::analysis
