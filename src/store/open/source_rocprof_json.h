// SPDX-License-Identifier: MIT
//
// rocprofv3's NAME_results.json (--output-format json) as the tables of a trace: it tells what its
// rocpd database tells, so it is put into rocpd's tables and read as one (source_rocpd.h). The
// whole file is in memory meanwhile. Called by TraceDatabase.
#pragma once

#include <string_view>

#include "store/open/source.h"

namespace rochound::store {

// By the beginning of the file.
bool LooksLikeRocprofJson(std::string_view text);

base::Result<SourceFacts> AttachRocprofJson(duck::Connection& connection,
                                            const std::filesystem::path& path,
                                            const std::string& schema,
                                            const SourceProgress& progress = {});

}  // namespace rochound::store
