// SPDX-License-Identifier: MIT
//
// The tables that every trace has once it is open, whatever file it came from, as data: what
// trace_schema.h describes, for code that treats all tables alike. Readers of foreign formats
// provide these tables, Parquet folders hold them, traces are merged and written column by column
// from here.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "store/rpd/trace_schema.h"

namespace rochound::store {

struct TraceColumn {
  const char* name;
  const char* type;  // of DuckDB
  Role role = Role::kValue;
};

struct TraceTable {
  const char* name;
  std::span<const TraceColumn> columns;
  // What a row is ordered by in an .rpd and found by.
  const char* key;
  // Names the process that a row belongs to: key >> 32, or a column of its own. Null: the rows are
  // of the whole trace.
  const char* session;
};

inline constexpr int64_t kPidStride = 10000000;
inline constexpr int64_t kGpuStride = 1000;

// All of them, in the order of the schema.
std::span<const TraceTable> TraceTables();
// Null: no such table.
const TraceTable* FindTraceTable(std::string_view name);

// "name type, name type, ..." for CREATE TABLE, and "name, name, ..." quoted.
std::string ColumnDefinitions(const TraceTable& table);
std::string ColumnNames(const TraceTable& table);

// CREATE TABLE schema.table (...) for one or all.
std::string CreateTable(const std::string& schema, const TraceTable& table);
std::string CreateTables(const std::string& schema);

}  // namespace rochound::store
