// SPDX-License-Identifier: MIT
//
// An .rpd is read in place, by DuckDB's reader of SQLite files.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/files.h"
#include "store/database.h"
#include "store/source.h"
#include "store/source_rpd_foreign.h"
#include "store/trace_tables.h"

namespace rochound::store {
namespace {

// Lower-case names of a table's columns; empty: no such table.
using Columns = std::map<std::string, std::set<std::string>>;

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(tolower(c)); });
  return text;
}

base::Result<Columns> ReadColumns(Database& database) {
  Columns columns;
  ROCHOUND_TRY(
      Statement statement,
      database.Prepare("SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) "
                       "c WHERE m.type = 'table'"));
  while (true) {
    ROCHOUND_TRY(const bool row, statement.Step());
    if (!row) return columns;
    columns[statement.Text(0)].insert(Lower(statement.Text(1)));
  }
}

}  // namespace

base::Result<SourceFacts> AttachRpd(duck::Connection& connection, const std::filesystem::path& path,
                                    const std::string& schema) {
  const std::string name = path.string();
  ROCHOUND_TRY(Database database, Database::Open(path, Database::Mode::kRead));
  ROCHOUND_TRY(const Columns columns, ReadColumns(database));
  if (columns.count("rochound_process") == 0) return AttachForeignRpd(connection, path, schema);

  const std::string file = schema + "_file";
  if (auto loaded = connection.Run("LOAD sqlite_scanner"); !loaded.ok()) {
    return loaded.error().In(
        "DuckDB's extension sqlite_scanner is needed to read '" + name +
        "' and did not load; Debian's libduckdb has it, elsewhere: duckdb -c 'INSTALL sqlite'");
  }
  ROCHOUND_CHECK(connection.Run("ATTACH " + duck::Literal(name) + " AS " + duck::Identifier(file) +
                                " (TYPE sqlite, READ_ONLY)"));
  // One transaction: for each, DuckDB opens the file and reads its schema anew.
  std::string sql = "BEGIN; CREATE SCHEMA IF NOT EXISTS " + duck::Identifier(schema) + ";";
  for (const TraceTable& table : TraceTables()) {
    const auto found = columns.find(table.name);
    if (found == columns.end()) {
      sql += CreateTable(schema, table);
      continue;
    }
    for (const TraceColumn& column : table.columns) {
      if (found->second.count(Lower(column.name)) == 0) {
        return base::Error{"'" + name + "': table " + table.name + " has no column " + column.name +
                           ", which schema version 3 of RPD has"};
      }
    }
    sql += "CREATE VIEW " + duck::Identifier(schema) + "." + duck::Identifier(table.name) +
           " AS SELECT " + ColumnNames(table) + " FROM " + duck::Identifier(file) + "." +
           duck::Identifier(table.name) + ";";
  }
  ROCHOUND_CHECK(connection.Run(sql + "COMMIT;"));
  return FactsOf(connection, schema);
}

}  // namespace rochound::store
