// SPDX-License-Identifier: MIT
#include "store/open/duck_writer.h"

#include <string_view>
#include <tuple>

#include "base/utf8.h"
#include "store/open/trace_tables.h"

namespace rochound::store {
namespace {

// One value of a row after the other.
class Append {
 public:
  Append(duck::Appender* rows, std::string* scratch) : rows_(rows), scratch_(scratch) {}

  void operator()(std::string_view text) const { rows_->Text(base::ToUtf8(text, scratch_)); }
  void operator()(double value) const { rows_->Real(value); }
  void operator()(int64_t value) const { rows_->Int(value); }
  void operator()(uint32_t value) const { rows_->Int(value); }
  void operator()(bool value) const { rows_->Int(value ? 1 : 0); }
  void operator()(const std::optional<int64_t>& value) const {
    value ? rows_->Int(*value) : rows_->Null();
  }

 private:
  duck::Appender* rows_;
  std::string* scratch_;
};

}  // namespace

base::Result<std::unique_ptr<DuckWriter>> DuckWriter::Create(duck::Connection& connection,
                                                             const std::string& schema) {
  std::unique_ptr<DuckWriter> writer(new DuckWriter);
  ROCHOUND_CHECK(connection.Run("CREATE SCHEMA IF NOT EXISTS " + duck::Identifier(schema) + ";" +
                                CreateTables(schema)));
#define ROCHOUND_OPEN(Row) ROCHOUND_CHECK(writer->Open<Row>(connection, schema));
  ROCHOUND_TRACE_ROWS(ROCHOUND_OPEN)
#undef ROCHOUND_OPEN
  writer->Begin();
  return writer;
}

template <typename Row>
base::Result<void> DuckWriter::Open(duck::Connection& connection, const std::string& schema) {
  ROCHOUND_TRY(duck::Appender rows, connection.Append(schema, Row::kTable.name));
  std::get<DuckTable<Row>>(tables_).rows.emplace(std::move(rows));
  return {};
}

template <typename Row>
void DuckWriter::Put(int64_t key, const Row& row) {
  duck::Appender& rows = *std::get<DuckTable<Row>>(tables_).rows;
  if (Row::kTable.key != nullptr) rows.Int(key);
  VisitValues(row, Append(&rows, &scratch_));
  rows.EndRow();
}

base::Result<void> DuckWriter::Close() {
  base::Result<void> result;
  const auto finish = [&](auto& table) {
    if (result.ok()) result = table.rows->Finish();
  };
  std::apply([&](auto&... table) { (finish(table), ...); }, tables_);
  return result;
}

#define ROCHOUND_WRITE(Row) \
  void DuckWriter::Write(int64_t key, const Row& row) { Put(key, row); }
ROCHOUND_TRACE_ROWS(ROCHOUND_WRITE)
#undef ROCHOUND_WRITE

}  // namespace rochound::store
