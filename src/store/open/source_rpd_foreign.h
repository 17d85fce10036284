// SPDX-License-Identifier: MIT
//
// An .rpd that RPD wrote, of its schema version 2 or 3, as the tables of a trace. What RPD's tables
// have is read in place; what they lack (domains in version 2, one row per dispatch and copy,
// processes, devices) is derived once, when the file is attached. Called by AttachRpd. Rows that
// point nowhere are kept and counted in rochound_lost.
#pragma once

#include "store/open/source.h"

namespace rochound::store {

base::Result<SourceFacts> AttachForeignRpd(duck::Connection& connection,
                                           const std::filesystem::path& path,
                                           const std::string& schema);

}  // namespace rochound::store
