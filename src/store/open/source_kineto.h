// SPDX-License-Identifier: MIT
//
// PyTorch's profiler traces (Chrome JSON, gzipped or not) as the tables of a trace. The file is
// read once, event by event; the tables are DuckDB's, so their size is bounded by its memory and
// spill limits and not by ours. Called by TraceDatabase. docs/formats/foreign.md says what is
// mapped to what. A damaged event is counted and told in rochound_lost; only a file
// without any event is an error.
#pragma once

#include "store/open/source.h"

namespace rochound::store {

base::Result<SourceFacts> AttachKineto(duck::Connection& connection,
                                       const std::filesystem::path& path, const std::string& schema,
                                       const SourceProgress& progress = {});

}  // namespace rochound::store
