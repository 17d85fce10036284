// SPDX-License-Identifier: MIT
#include "store/open/foreign_sqlite.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/utf8.h"
#include "store/open/bundled.h"

namespace rochound::store {
namespace {

const char* DuckType(ForeignColumn::Type type) {
  return type == ForeignColumn::kInteger ? "BIGINT"
         : type == ForeignColumn::kReal  ? "DOUBLE"
                                         : "VARCHAR";
}

const char* SqliteType(ForeignColumn::Type type) {
  return type == ForeignColumn::kInteger ? "INTEGER"
         : type == ForeignColumn::kReal  ? "REAL"
                                         : "TEXT";
}

}  // namespace

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(tolower(c)); });
  return text;
}

base::Result<ForeignSqlite> ForeignSqlite::Attach(duck::Connection& connection,
                                                  const std::filesystem::path& path,
                                                  const std::string& name) {
  const std::string file = path.string();
  ROCHOUND_TRY(Database database, Database::Open(path, Database::Mode::kRead));
  database.AddUtf8Check();
  ForeignSqlite source(connection, std::move(database), file, name);
  ROCHOUND_TRY(Statement statement,
               source.database_.Prepare("SELECT m.name, c.name FROM sqlite_master m, "
                                        "pragma_table_info(m.name) c WHERE m.type = 'table'"));
  while (true) {
    ROCHOUND_TRY(const bool row, statement.Step());
    if (!row) break;
    source.tables_[statement.Text(0)].insert(Lower(statement.Text(1)));
  }
  const std::filesystem::path brought = BundledExtension("sqlite_scanner");
  if (auto loaded = connection.Run(
          "LOAD " + (brought.empty() ? "sqlite_scanner" : duck::Literal(brought.string())));
      !loaded.ok()) {
    return loaded.error().In("DuckDB's extension sqlite_scanner is needed to read '" + file +
                             "' and did not load; install Debian's package duckdb, elsewhere: "
                             "duckdb -c 'INSTALL sqlite'");
  }
  // With what SQLite may keep beside it.
  for (const char* ending : {"", "-wal", "-shm", "-journal"}) connection.AllowFile(file + ending);
  ROCHOUND_CHECK(connection.Run("ATTACH " + duck::Literal(file) + " AS " + duck::Identifier(name) +
                                " (TYPE sqlite, READ_ONLY)"));
  return source;
}

base::Result<std::string> ForeignSqlite::Select(const std::string& table,
                                                std::span<const ForeignColumn> columns) {
  const auto found = tables_.find(table);
  std::string direct, converted, in_sqlite, odd, wrong, bad_text;
  std::vector<ForeignColumn> present;
  const auto add = [](std::string* list, const std::string& item) {
    *list += (list->empty() ? "" : ", ") + item;
  };
  for (const ForeignColumn& column : columns) {
    const std::string name = duck::Identifier(column.name);
    const std::string type = DuckType(column.type);
    if (found == tables_.end() || found->second.count(Lower(column.name)) == 0) {
      if (found != tables_.end() && column.missing == nullptr) {
        return base::Error{"'" + file_ + "': table " + table + " has no column " + column.name};
      }
      const std::string value = "CAST(" +
                                std::string(column.missing == nullptr ? "NULL" : column.missing) +
                                " AS " + type + ") AS " + name;
      add(&direct, value);
      add(&converted, value);
      continue;
    }
    const bool text = column.type == ForeignColumn::kText;
    add(&direct, "CAST(" + name + " AS " + type + ") AS " + name);
    // What SQLite makes of a value when it has to be a number: its digits, or zero.
    add(&in_sqlite, "CAST(" + name + " AS " + SqliteType(column.type) + ") AS " + name);
    add(&converted, "TRY_CAST(" + name + " AS " + type + ") AS " + name);
    const std::string good = text                                  ? "('text', 'null')"
                             : column.type == ForeignColumn::kReal ? "('real', 'integer', 'null')"
                                                                   : "('integer', 'null')";
    odd += (odd.empty() ? "" : " OR ") + ("typeof(" + name + ") NOT IN " + good);
    // RPD writes an empty text for a number that it does not have.
    present.push_back(column);
    if (text) {
      bad_text += (bad_text.empty() ? "NOT is_utf8(" : " OR NOT is_utf8(") + name + ")";
      continue;
    }
    wrong += (wrong.empty() ? "" : " OR ") + ("typeof(" + name + ") NOT IN " + good) + " AND " +
             name + " <> ''";
  }
  if (found == tables_.end()) return "(SELECT " + direct + " WHERE false)";
  int64_t odd_rows = 0;
  if (!odd.empty()) {
    ROCHOUND_TRY(odd_rows, database_.Number("SELECT count(*) FROM " + duck::Identifier(table) +
                                            " WHERE " + odd));
  }
  if (!bad_text.empty()) {
    ROCHOUND_TRY(
        const int64_t rows,
        database_.Number("SELECT count(*) FROM " + duck::Identifier(table) + " WHERE " + bad_text));
    if (rows > 0) {
      mended_rows_ += rows;
      ROCHOUND_TRY(const std::string copy, Copy(table, present));
      return "(SELECT " + direct + " FROM " + copy + ")";
    }
  }
  if (odd_rows == 0) {
    return "(SELECT " + direct + " FROM " + duck::Identifier(name_) + ".main." +
           duck::Identifier(table) + ")";
  }
  if (!wrong.empty()) {
    ROCHOUND_TRY(const int64_t rows, database_.Number("SELECT count(*) FROM " +
                                                      duck::Identifier(table) + " WHERE " + wrong));
    wrong_rows_ += rows;
  }
  return "(SELECT " + converted + " FROM sqlite_query(" + duck::Literal(name_) + ", " +
         duck::Literal("SELECT " + in_sqlite + " FROM " + duck::Identifier(table)) + "))";
}

base::Result<std::string> ForeignSqlite::Copy(const std::string& table,
                                              std::span<const ForeignColumn> columns) {
  const std::string schema = name_ + "_mended";
  std::string definitions, list;
  for (const ForeignColumn& column : columns) {
    const std::string name = duck::Identifier(column.name);
    definitions += (definitions.empty() ? "" : ", ") + name + " " + DuckType(column.type);
    list += (list.empty() ? "" : ", ") + ("CAST(" + name + " AS ") + SqliteType(column.type) + ")";
  }
  const std::string copy = duck::Identifier(schema) + "." + duck::Identifier(table);
  ROCHOUND_CHECK(connection_->Run("CREATE SCHEMA IF NOT EXISTS " + duck::Identifier(schema) +
                                  "; CREATE OR REPLACE TABLE " + copy + " (" + definitions + ")"));
  ROCHOUND_TRY(duck::Appender appender, connection_->Append(schema, table));
  ROCHOUND_TRY(Statement rows,
               database_.Prepare("SELECT " + list + " FROM " + duck::Identifier(table)));
  std::string scratch;
  while (true) {
    ROCHOUND_TRY(const bool more, rows.Step());
    if (!more) break;
    for (int i = 0; i < rows.columns(); ++i) {
      const ForeignColumn::Type type = columns[static_cast<size_t>(i)].type;
      if (rows.IsNull(i)) {
        appender.Null();
      } else if (type == ForeignColumn::kInteger) {
        appender.Int(rows.Int(i));
      } else if (type == ForeignColumn::kReal) {
        appender.Real(rows.Real(i));
      } else {
        appender.Text(base::ToUtf8(rows.Text(i), &scratch));
      }
    }
    appender.EndRow();
  }
  ROCHOUND_CHECK(appender.Finish());
  return copy;
}

}  // namespace rochound::store
