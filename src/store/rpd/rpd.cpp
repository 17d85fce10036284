// SPDX-License-Identifier: MIT
#include "store/rpd/rpd.h"

#include <array>
#include <optional>
#include <string_view>

#include "base/utf8.h"
#include "store/rpd/database.h"

namespace rochound::store {
namespace {

// One value of a row into a record of a big table.
class Fill {
 public:
  Fill(Record* record, std::string* scratch) : record_(record), scratch_(scratch) {}

  void operator()(std::string_view text) const { record_->Text(base::ToUtf8(text, scratch_)); }
  void operator()(double value) const { record_->Real(value); }
  void operator()(int64_t value) const { record_->Int(value); }
  void operator()(uint32_t value) const { record_->Int(value); }
  void operator()(bool value) const { record_->Int(value ? 1 : 0); }
  void operator()(const std::optional<int64_t>& value) const {
    value ? record_->Int(*value) : record_->Null();
  }

 private:
  Record* record_;
  std::string* scratch_;
};

// One value after the other into a statement. Texts live as long as this.
class Bind {
 public:
  explicit Bind(Statement* statement) : statement_(statement) {}

  void operator()(std::string_view text) {
    statement_->Bind(at_, base::ToUtf8(text, &scratch_[static_cast<size_t>(at_)]));
    ++at_;
  }
  void operator()(double value) { statement_->Bind(at_++, value); }
  void operator()(int64_t value) { statement_->Bind(at_++, value); }
  void operator()(uint32_t value) { statement_->Bind(at_++, int64_t{value}); }
  void operator()(bool value) { statement_->Bind(at_++, int64_t{value}); }
  void operator()(const std::optional<int64_t>& value) {
    value ? statement_->Bind(at_, *value) : statement_->BindNull(at_);
    ++at_;
  }

 private:
  Statement* statement_;
  int at_ = 0;
  std::array<std::string, 16> scratch_;  // more columns than a table has
};

}  // namespace

base::Result<std::unique_ptr<RpdWriter>> RpdWriter::Create(const std::filesystem::path& path) {
  std::unique_ptr<RpdWriter> writer(new RpdWriter);
  ROCHOUND_TRY(writer->file_, RpdFile::Create(path));
  std::apply(
      [&]<typename... Rows>(RpdTable<Rows>&... table) {
        ((table.big = writer->file_->Find(Rows::kTable.name)), ...);
      },
      writer->tables_);
  writer->Begin();
  return writer;
}

template <typename Row>
void RpdWriter::Put(int64_t key, const Row& row) {
  auto& table = std::get<RpdTable<Row>>(tables_);
  if (table.big == nullptr) {
    table.small.emplace_back(key, row);
    return;
  }
  record_.Clear();
  const bool indexed = table.big->index != nullptr;
  indexed ? record_.Int(key) : record_.Null();  // a rowid is beside the record
  VisitValues(row, Fill(&record_, &scratch_));
  table.big->Put(indexed ? ++table.rows : key, record_);
  if (!indexed) return;
  record_.Clear();
  record_.Ints(key, table.rows);
  table.big->index->AddEntry(record_);
}

template <typename Row>
base::Result<void> RpdWriter::Insert(Database& database, const RpdTable<Row>& table) {
  constexpr bool kHasKey = Row::kTable.key != nullptr;
  std::string marks = kHasKey ? "?" : "";
  VisitValues(Row{}, [&](const auto&) { marks += marks.empty() ? "?" : ", ?"; });
  ROCHOUND_TRY(Statement insert, database.Prepare(std::string("INSERT INTO ") + Row::kTable.name +
                                                  " VALUES (" + marks + ")"));
  for (const auto& [key, row] : table.small) {
    Bind bind(&insert);
    if (kHasKey) bind(key);
    VisitValues(row, bind);
    ROCHOUND_CHECK(insert.Run());
  }
  return {};
}

base::Result<void> RpdWriter::Close() {
  return file_->Finish([this](Database& database) {
    base::Result<void> result;
    const auto insert = [&](const auto& table) {
      if (result.ok() && !table.small.empty()) result = Insert(database, table);
    };
    std::apply([&](const auto&... table) { (insert(table), ...); }, tables_);
    return result;
  });
}

#define ROCHOUND_WRITE(Row) \
  void RpdWriter::Write(int64_t key, const Row& row) { Put(key, row); }
ROCHOUND_TRACE_ROWS(ROCHOUND_WRITE)
#undef ROCHOUND_WRITE

}  // namespace rochound::store
