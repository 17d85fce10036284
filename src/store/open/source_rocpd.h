// SPDX-License-Identifier: MIT
//
// A database of rocprofv3 (rocpd) as the tables of a trace. Its tables carry the UUID of the
// process they were written by in their names, and a file may hold those of several processes; each
// becomes a session. Read once, by DuckDB, into tables of DuckDB's. Called by TraceDatabase.
// docs/formats/foreign.md says what is mapped to what; what is not, is counted in rochound_lost.
#pragma once

#include "store/open/source.h"

namespace rochound::store {

base::Result<SourceFacts> AttachRocpd(duck::Connection& connection,
                                      const std::filesystem::path& path, const std::string& schema,
                                      const SourceProgress& progress = {});

// For a reader of the same things from another kind of file: creates rocpd's tables, without their
// prefix and with a column `part` before their own, in SCHEMA_raw, and reads what was put there.
base::Result<void> CreateRocpdTables(duck::Connection& connection, const std::string& schema);
base::Result<SourceFacts> ReadRocpdTables(duck::Connection& connection, const std::string& schema);

}  // namespace rochound::store
