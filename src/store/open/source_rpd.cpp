// SPDX-License-Identifier: MIT
//
// An .rpd is read in place, by DuckDB's reader of SQLite files.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "store/open/foreign_sqlite.h"
#include "store/open/source.h"
#include "store/open/source_rpd_foreign.h"
#include "store/open/trace_tables.h"

namespace rochound::store {
namespace {

// Only ours have them.
base::Result<bool> IsOurs(const std::filesystem::path& path) {
  ROCHOUND_TRY(Database database, Database::Open(path, Database::Mode::kRead));
  ROCHOUND_TRY(const int64_t found,
               database.Number("SELECT count(*) FROM sqlite_master WHERE name = 'rochound_process' "
                               "AND type = 'table'"));
  return found > 0;
}

}  // namespace

base::Result<SourceFacts> AttachRpd(duck::Connection& connection, const std::filesystem::path& path,
                                    const std::string& schema) {
  ROCHOUND_TRY(const bool ours, IsOurs(path));
  if (!ours) return AttachForeignRpd(connection, path, schema);

  const std::string name = path.string();
  const std::string file = schema + "_file";
  ROCHOUND_TRY(ForeignSqlite tables, ForeignSqlite::Attach(connection, path, file));
  // One transaction: for each, DuckDB opens the file and reads its schema anew.
  std::string sql = "BEGIN; CREATE SCHEMA IF NOT EXISTS " + duck::Identifier(schema) + ";";
  for (const TraceTable& table : TraceTables()) {
    const auto found = tables.tables().find(table.name);
    if (found == tables.tables().end()) {
      sql += CreateTable(schema, table);
      continue;
    }
    for (const TraceColumn& column : table.columns) {
      if (found->second.count(Lower(column.name)) == 0) {
        return base::Error{"'" + name + "': table " + table.name + " has no column " + column.name +
                           ", which schema version 3 of RPD has"};
      }
    }
    std::string from = duck::Identifier(file) + "." + duck::Identifier(table.name);
    // Names are what most questions work on, and few enough to be looked at first.
    if (std::string_view(table.name) == "rocpd_string") {
      constexpr ForeignColumn kColumns[] = {{"id"}, {"string", ForeignColumn::kText}};
      ROCHOUND_TRY(from, tables.Select(table.name, kColumns));
    }
    sql += "CREATE VIEW " + duck::Identifier(schema) + "." + duck::Identifier(table.name) +
           " AS SELECT " + ColumnNames(table) + " FROM " + from + ";";
  }
  if (auto made = connection.Run(sql + "COMMIT;"); !made.ok()) {
    (void)connection.Run("ROLLBACK").ok();
    return made.error().In("'" + name + "'");
  }
  return FactsOf(connection, schema);
}

}  // namespace rochound::store
