// SPDX-License-Identifier: MIT
//
// An open trace -> a .pftrace for ui.perfetto.dev: a track per thread and per queue, an arrow from
// each call to what it started, counters of queue depth and running operations. Replaces a file
// that is there, at once and completely; gzipped if its name ends in .gz. One thread, bounded
// memory; errors are of the disk and of the trace.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "store/open/trace_database.h"

namespace rochound::store {

base::Result<void> ExportPerfetto(TraceDatabase& trace, const std::filesystem::path& path);

}  // namespace rochound::store
