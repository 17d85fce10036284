// SPDX-License-Identifier: MIT
//
// The schema of a trace.rpd in SQL: RPD's version 3, table for table and column for column, so that
// RPD's own queries and tools read it, and tables of ours beside it (trace_schema.h). The
// views have RPD's names, columns and meaning, with two differences for the better: `top` counts
// operations that are alike in everything, and `kernel` has a row of its own data for every
// dispatch of a graph. DuckDB takes their text too (trace_database.h), hence the quotes around
// "end" and nothing that only SQLite knows.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace rochound::store {

// What rocpd_metadata says of every trace. RPD's clean-up of unused strings asks there which other
// tables use them.
inline constexpr std::pair<const char*, const char*> kRpdMetadata[] = {
    {"gpu_stride", "1000"},
    {"pid_stride", "10000000"},
    {"schema_version", "3"},
    {"references::rocpd_string.id", "(\"rochound_kernel\", \"name_id\")"},
    {"references::rocpd_string.id", "(\"rochound_kernel\", \"mangledName_id\")"},
};

// At most what RPD declares for strings, and no character cut in two.
std::string_view CutText(std::string_view text);

extern const char* const kRpdTables;  // RPD's, empty
const std::string& RochoundTables();  // ours, empty
extern const char* const kRpdViews;
extern const char* const kRpdIndexes;  // made last, when the tables are full

}  // namespace rochound::store
