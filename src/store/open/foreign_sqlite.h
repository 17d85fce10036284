// SPDX-License-Identifier: MIT
//
// Tables of an SQLite file that somebody else wrote, for DuckDB to read in place. SQLite's columns
// hold whatever was put into them (RPD's have empty texts among the numbers) and DuckDB refuses a
// table over a single such value, so every table is looked at once when it is asked for: one that
// holds what it declares is read directly, any other through SQLite's own conversions, and values
// that are no numbers where numbers belong are counted. Used by the readers of .rpd and rocpd while
// they attach; one thread. A table with texts that are no UTF-8, on which DuckDB's functions fail,
// is copied with them mended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>

#include "base/result.h"
#include "store/open/duck.h"
#include "store/rpd/database.h"

namespace rochound::store {

// A column to be read, under the name it is to have.
struct ForeignColumn {
  const char* name;
  enum Type { kInteger, kReal, kText } type = kInteger;
  // What stands for it in a file that has no such column, as SQL; null: then the table is not ours.
  const char* missing = nullptr;
};

class ForeignSqlite {
 public:
  // Attaches the file under this name; it stays attached.
  static base::Result<ForeignSqlite> Attach(duck::Connection& connection,
                                            const std::filesystem::path& path,
                                            const std::string& name);

  // Tables with their columns in lower case; views are none.
  const std::map<std::string, std::set<std::string>>& tables() const { return tables_; }
  bool Has(const std::string& table) const { return tables_.count(table) != 0; }
  Database& database() { return database_; }

  // "(SELECT ...)" with these columns. A table that the file lacks is empty.
  base::Result<std::string> Select(const std::string& table,
                                   std::span<const ForeignColumn> columns);

  // Rows with something else where a number belongs, so far.
  int64_t wrong_rows() const { return wrong_rows_; }
  // Rows with texts that are no UTF-8.
  int64_t mended_rows() const { return mended_rows_; }

 private:
  ForeignSqlite(duck::Connection& connection, Database database, std::string file, std::string name)
      : connection_(&connection),
        database_(std::move(database)),
        file_(std::move(file)),
        name_(std::move(name)) {}
  // A copy in DuckDB; `columns` are of a table that has them all.
  base::Result<std::string> Copy(const std::string& table, std::span<const ForeignColumn> columns);

  duck::Connection* connection_;
  Database database_;
  std::string file_, name_;
  std::map<std::string, std::set<std::string>> tables_;
  int64_t wrong_rows_ = 0;
  int64_t mended_rows_ = 0;
};

// In lower case, as SQLite compares names of tables and columns: ASCII only.
std::string Lower(std::string text);

}  // namespace rochound::store
