// SPDX-License-Identifier: MIT
//
// An open trace -> Chrome's JSON, in the words of PyTorch's profiler, so that what reads its traces
// reads this (and so do we). Replaces a file that is there, at once and completely; gzipped if its
// name ends in .gz. One thread, bounded memory; errors are of the disk and of the trace.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "store/open/trace_database.h"

namespace rochound::store {

base::Result<void> ExportChrome(TraceDatabase& trace, const std::filesystem::path& path);

}  // namespace rochound::store
