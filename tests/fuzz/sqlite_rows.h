// SPDX-License-Identifier: MIT
//
// Bytes of a fuzzer as rows of an SQLite file: well-formed pages with any values in them, which
// mutated files rarely are. The input is a list of rows, each a byte that chooses the table and
// then a byte per column that chooses what kind of value follows. One thread.
#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rochound::fuzz {

class SqliteRows {
 public:
  // `schema`: what has to be made first. `path` is replaced.
  SqliteRows(const std::filesystem::path& path, const char* schema) {
    std::filesystem::remove(path);
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) abort();
    Run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 1024; BEGIN;");
    Run(schema);
    sqlite3_stmt* tables = nullptr;
    sqlite3_prepare_v2(
        db_,
        "SELECT m.name, count(*) FROM sqlite_master m, pragma_table_info(m.name) WHERE "
        "m.type = 'table' AND m.name NOT LIKE 'sqlite%' GROUP BY m.name",
        -1, &tables, nullptr);
    while (sqlite3_step(tables) == SQLITE_ROW) {
      Table table;
      table.columns = sqlite3_column_int(tables, 1);
      std::string sql = "INSERT OR REPLACE INTO \"";
      sql += reinterpret_cast<const char*>(sqlite3_column_text(tables, 0));
      sql += "\" VALUES (?";
      for (int i = 1; i < table.columns; ++i) sql += ", ?";
      sqlite3_prepare_v2(db_, (sql + ")").c_str(), -1, &table.insert, nullptr);
      tables_.push_back(table);
    }
    sqlite3_finalize(tables);
  }
  SqliteRows(const SqliteRows&) = delete;
  SqliteRows& operator=(const SqliteRows&) = delete;
  ~SqliteRows() {
    for (const Table& table : tables_) sqlite3_finalize(table.insert);
    Run("COMMIT");
    sqlite3_close(db_);
  }

  void Fill(std::string_view input) {
    while (!input.empty() && !tables_.empty()) {
      const Table& table = tables_[Take(&input, 1) % tables_.size()];
      sqlite3_reset(table.insert);
      for (int column = 1; column <= table.columns; ++column) Bind(table.insert, column, &input);
      sqlite3_step(table.insert);
    }
  }

 private:
  struct Table {
    sqlite3_stmt* insert = nullptr;
    int columns = 0;
  };

  static uint64_t Take(std::string_view* input, size_t bytes) {
    uint64_t value = 0;
    const size_t size = std::min(bytes, input->size());
    memcpy(&value, input->data(), size);
    input->remove_prefix(size);
    return value;
  }

  // Small numbers are common: they are the ids that make rows meet.
  static void Bind(sqlite3_stmt* statement, int column, std::string_view* input) {
    const uint64_t kind = Take(input, 1);
    if (kind < 160) {
      sqlite3_bind_int64(statement, column, static_cast<int64_t>(kind % 16));
    } else if (kind < 180) {
      sqlite3_bind_int64(statement, column, static_cast<int64_t>(Take(input, 4)));
    } else if (kind < 190) {
      sqlite3_bind_int64(statement, column, static_cast<int64_t>(Take(input, 8)));
    } else if (kind < 200) {
      sqlite3_bind_null(statement, column);
    } else if (kind < 205) {
      double real = 0;
      const uint64_t bits = Take(input, 8);
      memcpy(&real, &bits, sizeof real);
      sqlite3_bind_double(statement, column, real);
    } else {
      const uint64_t wanted = Take(input, 1) % 64;
      const size_t size = std::min<size_t>(wanted, input->size());
      if (kind < 250) {
        sqlite3_bind_text(statement, column, input->data(), static_cast<int>(size),
                          SQLITE_TRANSIENT);
      } else {
        sqlite3_bind_blob(statement, column, input->data(), static_cast<int>(size),
                          SQLITE_TRANSIENT);
      }
      input->remove_prefix(size);
    }
  }

  void Run(const char* sql) { sqlite3_exec(db_, sql, nullptr, nullptr, nullptr); }

  sqlite3* db_ = nullptr;
  std::vector<Table> tables_;
};

}  // namespace rochound::fuzz
