// SPDX-License-Identifier: MIT
//
// The question `idle`: every gap of every GPU and queue by cause (idle_sweep.h), with the call,
// range or operation that filled it. One thread. Memory: 20 bytes per runtime call, 16 per start
// and end of a range, 16 per operation that depended on another queue, and what DuckDB sorts,
// which goes to disk beyond its limit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analysis/host_activity.h"
#include "analysis/idle_sweep.h"
#include "analysis/questions.h"
#include "analysis/trace_rows.h"
#include "base/result.h"
#include "store/open/duck.h"

namespace rochound::analysis {

// A copy of no more to the host is a look at a result.
inline constexpr int64_t kResultBytes = 4096;

struct Idle {
  Names names;
  std::vector<std::string> ranges;
  Window window;
  HostThreads threads;
  std::unique_ptr<IdleSweep> sweep;

  // What a piece's `what` means: a call or an operation, or a range beyond these; "" for kNoName.
  const std::string& Text(uint32_t what) const;
};

// longest: how many gaps are kept.
base::Result<Idle> AnalyzeIdle(store::duck::Connection& connection, size_t longest);

base::Result<Answer> AskIdle(store::TraceDatabase& trace, const AskOptions& options);

}  // namespace rochound::analysis
