// SPDX-License-Identifier: MIT
//
// An open trace -> an .rpd of RPD's version 3 with our tables, the same rows with the same ids.
// Replaces a file that is there, at once and completely. One thread, bounded memory; errors are of
// the disk and of the trace.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "store/open/trace_database.h"

namespace rochound::store {

base::Result<void> ExportRpd(TraceDatabase& trace, const std::filesystem::path& path);

}  // namespace rochound::store
