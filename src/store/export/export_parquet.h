// SPDX-License-Identifier: MIT
//
// An open trace -> a folder of Parquet files, a folder per table and in it one per process
// (docs/formats/trace.md). Made beside its place and moved there when complete; a folder that is
// there already is not replaced. One thread; errors are of the disk and of the trace.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "store/open/trace_database.h"

namespace rochound::store {

base::Result<void> ExportParquet(TraceDatabase& trace, const std::filesystem::path& folder);

}  // namespace rochound::store
