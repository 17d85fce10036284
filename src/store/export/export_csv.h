// SPDX-License-Identifier: MIT
//
// An open trace -> a folder with a CSV file per table, with a line of names, in the order of ids;
// and beside them kernel_trace.csv and its like, with names instead of ids, as rocprofv3 writes
// them. Made beside its place and moved there when complete; a folder that is there already is not
// replaced. One thread, bounded memory; errors are of the disk and of the trace.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "store/open/trace_database.h"

namespace rochound::store {

base::Result<void> ExportCsv(TraceDatabase& trace, const std::filesystem::path& folder);

}  // namespace rochound::store
