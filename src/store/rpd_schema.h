// SPDX-License-Identifier: MIT
//
// The schema of a trace.rpd: RPD's version 3, table for table and column for column, so that RPD's
// own queries and tools read it, and tables of ours beside it whose names start with rochound_. The
// views have RPD's names, columns and meaning, with two differences for the better: `top` counts
// operations that are alike in everything, and `kernel` has a row of its own data for every
// dispatch of a graph. DuckDB takes their text too (trace_database.h), hence the quotes around
// "end" and nothing that only SQLite knows.
#pragma once

namespace rochound::store {

inline constexpr int kRpdSchemaVersion = 3;

extern const char* const kRpdTables;       // RPD's, empty, and its metadata rows
extern const char* const kRochoundTables;  // ours
extern const char* const kRpdViews;
extern const char* const kRpdIndexes;  // made last, when the tables are full

}  // namespace rochound::store
