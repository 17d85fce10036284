// SPDX-License-Identifier: MIT
//
// What the fuzzers of the trace readers share: reading a trace as rochound does, to its last row.
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fuzz/asan_with_duckdb.h"
#include "fuzz/folder.h"
#include "store/open/duck.h"
#include "store/open/source.h"
#include "store/open/trace_tables.h"

namespace rochound::fuzz {

inline constexpr size_t kTablesRead = 6;

// Kept for many inputs, because DuckDB takes longer to start than an input to be read.
inline store::duck::Connection& Connection(int* uses) {
  static std::optional<store::duck::Connection> connection;
  static int count = 0;
  if (!connection || ++count > 2000) {
    connection.reset();
    store::duck::Limits limits;
    limits.memory_bytes = uint64_t{1} << 30;
    limits.threads = 1;
    connection.emplace(store::duck::Connection::Open(limits).value());
    (void)connection->Run("LOAD sqlite_scanner").ok();
    count = 0;
  }
  *uses = count;
  return *connection;
}

// Attaches with `attach` and reads every column of some tables, which depend on the input: asking
// for all takes longer than making them.
template <typename Attach>
void Read(const std::filesystem::path& path, std::string_view input, const Attach& attach) {
  int uses = 0;
  store::duck::Connection& connection = Connection(&uses);
  const std::string schema = "s" + std::to_string(uses);
  const auto facts = attach(connection, path, schema);
  if (facts.ok()) {
    const size_t first = std::hash<std::string_view>()(input);
    const auto tables = store::TraceTables();
    for (size_t i = 0; i < kTablesRead; ++i) {
      const store::TraceTable& table = tables[(first + i * 7) % tables.size()];
      auto rows = connection.Query("SELECT " + store::ColumnNames(table) + " FROM " + schema + "." +
                                   store::duck::Identifier(table.name));
      uint64_t sum = 0;
      while (rows.ok()) {
        const auto more = rows.value().Next();
        if (!more.ok() || !more.value()) break;
        for (size_t column = 0; column < rows.value().columns(); ++column) {
          sum += rows.value().IsNull(column) ? 1 : rows.value().Text(column).size();
          sum += static_cast<uint64_t>(rows.value().Int(column));
        }
      }
      static volatile uint64_t sink = 0;
      sink = sink + sum;
    }
  }
  (void)connection.Run("ROLLBACK").ok();  // of a reader that was refused in the middle
  (void)connection.Run("DROP SCHEMA IF EXISTS " + schema + " CASCADE").ok();
  (void)connection.Run("DROP SCHEMA IF EXISTS " + schema + "_raw CASCADE").ok();
  (void)connection.Run("DROP SCHEMA IF EXISTS " + schema + "_file_mended CASCADE").ok();
  (void)connection.Run("DETACH DATABASE IF EXISTS " + schema + "_file").ok();
}

}  // namespace rochound::fuzz

// DuckDB's start is not part of the first input's time.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  int uses = 0;
  rochound::fuzz::Connection(&uses);
  return 0;
}
