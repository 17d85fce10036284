// SPDX-License-Identifier: MIT
#include "store/export_csv.h"

#include <string>
#include <system_error>

#include "base/files.h"
#include "store/trace_tables.h"

namespace rochound::store {

namespace fs = std::filesystem;

base::Result<void> ExportCsv(TraceDatabase& trace, const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error))
    return base::Error{"'" + folder.string() + "' is there already; remove it or name another"};
  const fs::path parent = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  ROCHOUND_TRY(base::TempDir partial, base::TempDir::Create(parent, ".rochound-csv-"));
  for (const TraceTable& table : TraceTables()) {
    const fs::path file = partial.path() / (std::string(table.name) + ".csv");
    if (auto written = trace.connection().Run("COPY (SELECT " + ColumnNames(table) + " FROM " +
                                              duck::Identifier(table.name) + " ORDER BY " +
                                              table.key + ") TO " + duck::Literal(file.string()) +
                                              " (FORMAT csv, HEADER true)");
        !written.ok())
      return written.error().In("cannot write " + std::string(table.name));
  }
  fs::permissions(partial.path(), fs::perms(0755), error);
  fs::rename(partial.path(), folder, error);
  if (error) return base::Error{"cannot make '" + folder.string() + "': " + error.message()};
  partial.Release();
  return {};
}

}  // namespace rochound::store
