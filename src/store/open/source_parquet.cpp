// SPDX-License-Identifier: MIT
//
// A folder with a folder per table (docs/formats/trace.md), read in place. Files may have been
// written by different processes; a table without any file is empty.
#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "store/open/source.h"
#include "store/open/trace_tables.h"

namespace rochound::store {
namespace {

namespace fs = std::filesystem;

// The name as a pattern that fits nothing else: read_parquet takes patterns.
std::string Pattern(const std::string& file) {
  std::string pattern;
  for (const char c : file) {
    if (c == '*' || c == '?' || c == '[')
      pattern += {'[', c, ']'};
    else
      pattern += c;
  }
  return pattern;
}

base::Result<std::vector<std::string>> ParquetFiles(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  if (!fs::exists(folder, error)) return files;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() != ".parquet" || it->is_directory(error)) continue;
    // DuckDB would wait for a FIFO.
    if (!it->is_regular_file(error))
      return base::Error{"'" + it->path().string() + "' is not a regular file"};
    files.push_back(it->path().string());
  }
  if (error) return base::Error{"cannot read '" + folder.string() + "': " + error.message()};
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

base::Result<SourceFacts> AttachParquet(duck::Connection& connection, const fs::path& path,
                                        const std::string& schema) {
  ROCHOUND_CHECK(connection.Run("CREATE SCHEMA IF NOT EXISTS " + duck::Identifier(schema)));
  for (const TraceTable& table : TraceTables()) {
    ROCHOUND_TRY(const std::vector<std::string> files, ParquetFiles(path / table.name));
    if (files.empty()) {
      ROCHOUND_CHECK(connection.Run(CreateTable(schema, table)));
      continue;
    }
    std::string list;
    for (const std::string& file : files) {
      const std::string pattern = Pattern(file);
      list += (list.empty() ? "" : ", ") + duck::Literal(pattern);
      connection.AllowFile(file);
      if (pattern != file) connection.AllowFile(pattern);  // DuckDB asks for both
    }
    std::string columns;
    for (const TraceColumn& column : table.columns) {
      const std::string name = duck::Identifier(column.name);
      columns +=
          (columns.empty() ? "" : ", ") + ("CAST(" + name + " AS ") + column.type + ") AS " + name;
    }
    if (auto made = connection.Run("CREATE VIEW " + duck::Identifier(schema) + "." +
                                   duck::Identifier(table.name) + " AS SELECT " + columns +
                                   " FROM read_parquet([" + list + "], hive_partitioning = false)");
        !made.ok()) {
      return made.error().In("'" + (path / table.name).string() + "'");
    }
  }
  return FactsOf(connection, schema);
}

}  // namespace rochound::store
