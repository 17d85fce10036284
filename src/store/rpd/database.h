// SPDX-License-Identifier: MIT
//
// libsqlite3 behind Result: a connection and its statements. For small tables and questions; big
// tables are written by sqlite_pages.h. One thread per Database. Errors name the file and carry
// SQLite's own words.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace rochound::store {

class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  // Columns and parameters are counted from zero. A bound text must live until the next Step.
  void Bind(int parameter, int64_t value);
  void Bind(int parameter, double value);
  void Bind(int parameter, std::string_view text);
  void BindNull(int parameter);
  template <typename... Values>
  void BindAll(const Values&... values) {
    int parameter = 0;
    (Bind(parameter++, values), ...);
  }

  // True: there is a row. False: done, and ready to be bound and run again.
  base::Result<bool> Step();
  // Forgets the rows that were not asked for; needed only before the statement is bound again.
  void Reset();
  // Runs a statement that returns no row.
  base::Result<void> Run();

  int columns() const;
  int64_t Int(int column) const;
  std::string Text(int column) const;
  double Real(int column) const;
  bool IsNull(int column) const;

 private:
  friend class Database;
  Statement(sqlite3* connection, sqlite3_stmt* statement)
      : connection_(connection), statement_(statement) {}

  sqlite3* connection_;
  sqlite3_stmt* statement_;
};

class Database {
 public:
  enum class Mode { kCreate, kWrite, kRead };

  static base::Result<Database> Open(const std::filesystem::path& path, Mode mode);
  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;
  ~Database();

  // Makes is_utf8(text) known to this connection's SQL.
  void AddUtf8Check();

  // Runs any number of statements and ignores their rows.
  base::Result<void> Run(const std::string& sql);
  base::Result<Statement> Prepare(std::string_view sql);
  // The first column of the first row of a question that has one; zero without a row.
  base::Result<int64_t> Number(std::string_view sql);

 private:
  explicit Database(sqlite3* connection) : connection_(connection) {}

  sqlite3* connection_;
};

}  // namespace rochound::store
