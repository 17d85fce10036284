// SPDX-License-Identifier: MIT
//
// A trace as it was found, in one of the formats that we read. Attach<Format> makes it visible in a
// schema of a DuckDB connection as the tables of trace_tables.h, every one of them with exactly
// those columns: views over the file where its format allows that, tables otherwise. Called by
// TraceDatabase while it opens; the file must stay until the connection is closed. What a reader
// cannot represent it counts in rochound_lost. Errors name the file and say what is wrong with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/open/duck.h"

namespace rochound::store {

enum class SourceFormat { kFlightLog, kRpd, kRocpd, kRocprofJson, kKineto, kParquet };

const char* FormatName(SourceFormat format);

// By content, not by name.
base::Result<SourceFormat> DetectFormat(const std::filesystem::path& path);
// A database that is packed by gzip, which has to be unpacked to be read.
bool IsPackedDatabase(const std::filesystem::path& path);

struct SourceFacts {
  int64_t sessions = 1;  // upper halves of ids are smaller than this
  int64_t nodes = 1;     // pids are smaller than nodes * kPidStride
  // Makes the source's times nanoseconds since 1970; not known: no value.
  std::optional<int64_t> realtime_offset_ns;
  std::string host;  // empty: not known
};

// Called now and then with the part done, 0 to 1. False: stop, with an error that says so.
using SourceProgress = std::function<bool(double part)>;

base::Result<SourceFacts> AttachRpd(duck::Connection& connection, const std::filesystem::path& path,
                                    const std::string& schema);
base::Result<SourceFacts> AttachParquet(duck::Connection& connection,
                                        const std::filesystem::path& path,
                                        const std::string& schema);

// What the readers share: facts that are found in the attached tables themselves.
base::Result<SourceFacts> FactsOf(duck::Connection& connection, const std::string& schema);

}  // namespace rochound::store
