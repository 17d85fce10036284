// SPDX-License-Identifier: MIT
#include "store/rpd/database.h"

#include <sqlite3.h>

#include "base/utf8.h"

namespace rochound::store {
namespace {

base::Error LastError(sqlite3* connection) {
  const char* const name = sqlite3_db_filename(connection, nullptr);
  const bool damaged = sqlite3_errcode(connection) == SQLITE_CORRUPT;
  return base::Error{std::string("'") + (name != nullptr ? name : "") +
                     "': " + sqlite3_errmsg(connection) +
                     (damaged ? ". Parts of the file are missing or overwritten: copy it again, or "
                                "record again"
                              : "")};
}

void IsUtf8Function(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_value_text(values[0]));
  const auto size = static_cast<size_t>(sqlite3_value_bytes(values[0]));
  sqlite3_result_int(context, text == nullptr || base::IsUtf8({text, size}) ? 1 : 0);
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_), statement_(other.statement_) {
  other.statement_ = nullptr;
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::Bind(int parameter, int64_t value) {
  sqlite3_bind_int64(statement_, parameter + 1, value);
}

void Statement::Bind(int parameter, double value) {
  sqlite3_bind_double(statement_, parameter + 1, value);
}

void Statement::Bind(int parameter, std::string_view text) {
  sqlite3_bind_text64(statement_, parameter + 1, text.data() != nullptr ? text.data() : "",
                      text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void Statement::BindNull(int parameter) { sqlite3_bind_null(statement_, parameter + 1); }

base::Result<bool> Statement::Step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  sqlite3_reset(statement_);
  if (code == SQLITE_DONE) return false;
  return LastError(connection_);
}

void Statement::Reset() { sqlite3_reset(statement_); }

base::Result<void> Statement::Run() {
  ROCHOUND_TRY(const bool row, Step());
  if (row) Reset();
  return {};
}

int Statement::columns() const { return sqlite3_column_count(statement_); }

int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_, column); }

std::string Statement::Text(int column) const {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

double Statement::Real(int column) const { return sqlite3_column_double(statement_, column); }

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

base::Result<Database> Database::Open(const std::filesystem::path& path, Mode mode) {
  int flags = SQLITE_OPEN_READWRITE;
  if (mode == Mode::kCreate) flags |= SQLITE_OPEN_CREATE;
  if (mode == Mode::kRead) flags = SQLITE_OPEN_READONLY;
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
  if (code != SQLITE_OK) {
    sqlite3_close(connection);
    return base::Error{"cannot open '" + path.string() + "': " + sqlite3_errstr(code)};
  }
  return Database(connection);
}

Database::Database(Database&& other) noexcept : connection_(other.connection_) {
  other.connection_ = nullptr;
}

Database::~Database() { sqlite3_close(connection_); }

void Database::AddUtf8Check() {
  sqlite3_create_function(connection_, "is_utf8", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr,
                          IsUtf8Function, nullptr, nullptr);
}

base::Result<void> Database::Run(const std::string& sql) {
  if (sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return LastError(connection_);
  return {};
}

base::Result<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(connection_, sql.data(), static_cast<int>(sql.size()), &statement,
                         nullptr) != SQLITE_OK) {
    return LastError(connection_);
  }
  return Statement(connection_, statement);
}

base::Result<int64_t> Database::Number(std::string_view sql) {
  ROCHOUND_TRY(Statement statement, Prepare(sql));
  ROCHOUND_TRY(const bool row, statement.Step());
  return row ? statement.Int(0) : 0;
}

}  // namespace rochound::store
