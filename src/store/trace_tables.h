// SPDX-License-Identifier: MIT
//
// The tables that every trace has once it is open, whatever file it came from: RPD's version 3 and
// ours (docs/formats/trace.md), with each column's part in joining traces. Readers of foreign
// formats provide these tables, Parquet folders hold them, traces are merged and written column by
// column from here. Plain constant data.
//
// What SQLite is told about the same tables stands in rpd_schema.h, in RPD's own words; a test
// keeps the two equal.
#pragma once

#include <span>
#include <string>

namespace rochound::store {

// How a column changes when its trace becomes part of a bigger one.
enum class Role {
  kId,       // of this or of another table's row: session << 32 and a count
  kSession,  // upper half of ids
  kTime,     // ns of the host's clock
  kPid,      // or tid: node * pid_stride and the system's number
  kGpu,      // node * gpu_stride and the GPU's number
  kValue,    // anything else
};

struct TraceColumn {
  const char* name;
  const char* type;  // of DuckDB
  Role role = Role::kValue;
};

struct TraceTable {
  const char* name;
  std::span<const TraceColumn> columns;
  // What a row is ordered by in an .rpd and found by; the first of these is also the rowid there if
  // it is one column, unless rowid says otherwise.
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
