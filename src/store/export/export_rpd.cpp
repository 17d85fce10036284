// SPDX-License-Identifier: MIT
#include "store/export/export_rpd.h"

#include <string>
#include <string_view>
#include <vector>

#include "store/open/trace_tables.h"
#include "store/rpd/database.h"
#include "store/rpd/rpd_file.h"
#include "store/rpd/rpd_schema.h"

namespace rochound::store {
namespace {

std::string Ordered(const TraceTable& table) {
  return "SELECT " + ColumnNames(table) + " FROM " + duck::Identifier(table.name) + " ORDER BY " +
         table.key;
}

enum class Kind { kInt, kReal, kText };

std::vector<Kind> KindsOf(const TraceTable& table) {
  std::vector<Kind> kinds;
  for (const TraceColumn& column : table.columns) {
    const std::string_view type = column.type;
    kinds.push_back(type == "VARCHAR" ? Kind::kText : type == "DOUBLE" ? Kind::kReal : Kind::kInt);
  }
  return kinds;
}

base::Result<void> WriteBig(duck::Connection& connection, const TraceTable& table,
                            RpdFile::BigTable& target) {
  const std::vector<Kind> kinds = KindsOf(table);
  ROCHOUND_TRY(duck::Rows rows, connection.Query(Ordered(table)));
  Record record;
  int64_t count = 0, last = INT64_MIN;
  while (true) {
    ROCHOUND_TRY(const bool any, rows.Next());
    if (!any) return {};
    const int64_t key = rows.Int(0);
    if (rows.IsNull(0) || key <= last) {
      return base::Error{std::string(table.name) + " has two rows with the key " +
                         std::to_string(key)};
    }
    last = key;
    record.Clear();
    for (size_t i = 0; i < kinds.size(); ++i) {
      if (rows.IsNull(i) || (i == 0 && !target.index)) {  // a rowid is beside the record
        record.Null();
      } else if (kinds[i] == Kind::kText) {
        record.Text(CutText(rows.Text(i)));
      } else if (kinds[i] == Kind::kReal) {
        record.Real(rows.Real(i));
      } else {
        record.Int(rows.Int(i));
      }
    }
    target.Put(target.index ? ++count : key, record);
    if (!target.index) continue;
    record.Clear();
    record.Ints(key, count);
    target.index->AddEntry(record);
  }
}

base::Result<void> WriteSmall(duck::Connection& connection, const TraceTable& table,
                              Database& database) {
  const std::vector<Kind> kinds = KindsOf(table);
  ROCHOUND_CHECK(database.Run("DELETE FROM " + std::string(table.name)));
  std::string marks = "?";
  for (size_t i = 1; i < kinds.size(); ++i) marks += ", ?";
  ROCHOUND_TRY(Statement insert, database.Prepare("INSERT INTO " + std::string(table.name) +
                                                  " VALUES (" + marks + ")"));
  ROCHOUND_TRY(duck::Rows rows, connection.Query(Ordered(table)));
  while (true) {
    ROCHOUND_TRY(const bool any, rows.Next());
    if (!any) return {};
    for (size_t i = 0; i < kinds.size(); ++i) {
      const int at = static_cast<int>(i);
      if (rows.IsNull(i)) {
        insert.BindNull(at);
      } else if (kinds[i] == Kind::kText) {
        insert.Bind(at, rows.Text(i));
      } else if (kinds[i] == Kind::kReal) {
        insert.Bind(at, rows.Real(i));
      } else {
        insert.Bind(at, rows.Int(i));
      }
    }
    ROCHOUND_CHECK(insert.Run());
  }
}

}  // namespace

base::Result<void> ExportRpd(TraceDatabase& trace, const std::filesystem::path& path) {
  ROCHOUND_TRY(const std::unique_ptr<RpdFile> file, RpdFile::Create(path));
  for (const TraceTable& table : TraceTables()) {
    RpdFile::BigTable* target = file->Find(table.name);
    if (target == nullptr) continue;
    if (auto written = WriteBig(trace.connection(), table, *target); !written.ok())
      return written.error().In("cannot write " + std::string(table.name));
  }
  return file->Finish([&](Database& database) -> base::Result<void> {
    for (const TraceTable& table : TraceTables()) {
      if (file->Find(table.name) != nullptr) continue;
      if (auto written = WriteSmall(trace.connection(), table, database); !written.ok())
        return written.error().In("cannot write " + std::string(table.name));
    }
    return {};
  });
}

}  // namespace rochound::store
