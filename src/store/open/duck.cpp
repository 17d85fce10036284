// SPDX-License-Identifier: MIT
#include "store/open/duck.h"

#include <duckdb.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "store/open/bundled.h"

namespace rochound::store::duck {
namespace {

constexpr auto kProgressPeriod = std::chrono::milliseconds(100);

// How a column's values lie in memory; what is not here is asked for as text.
enum class Layout {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kHuge,
  kUnsignedHuge,
  kFloat,
  kDouble,
  kText,
  kOther,
};

Layout LayoutOf(duckdb_type type) {
  switch (type) {
    case DUCKDB_TYPE_BOOLEAN:
      return Layout::kBool;
    case DUCKDB_TYPE_TINYINT:
      return Layout::kInt8;
    case DUCKDB_TYPE_SMALLINT:
      return Layout::kInt16;
    case DUCKDB_TYPE_INTEGER:
      return Layout::kInt32;
    case DUCKDB_TYPE_BIGINT:
      return Layout::kInt64;
    case DUCKDB_TYPE_UTINYINT:
      return Layout::kUint8;
    case DUCKDB_TYPE_USMALLINT:
      return Layout::kUint16;
    case DUCKDB_TYPE_UINTEGER:
      return Layout::kUint32;
    case DUCKDB_TYPE_UBIGINT:
      return Layout::kUint64;
    case DUCKDB_TYPE_HUGEINT:
      return Layout::kHuge;
    case DUCKDB_TYPE_UHUGEINT:
      return Layout::kUnsignedHuge;
    case DUCKDB_TYPE_FLOAT:
      return Layout::kFloat;
    case DUCKDB_TYPE_DOUBLE:
      return Layout::kDouble;
    case DUCKDB_TYPE_VARCHAR:
    case DUCKDB_TYPE_BLOB:
      return Layout::kText;
    default:
      return Layout::kOther;
  }
}

Kind KindOf(Layout layout) {
  switch (layout) {
    case Layout::kFloat:
    case Layout::kDouble:
      return Kind::kReal;
    case Layout::kText:
    case Layout::kOther:
      return Kind::kText;
    default:
      return Kind::kInteger;
  }
}

// What a question asks for when a column's values are not of a kind that we read.
std::string Wrapped(const std::string& sql, duckdb_prepared_statement statement) {
  std::string columns;
  for (idx_t i = 0; i < duckdb_prepared_statement_column_count(statement); ++i) {
    const duckdb_type type = duckdb_prepared_statement_column_type(statement, i);
    const char* name = duckdb_prepared_statement_column_name(statement, i);
    const std::string quoted = Identifier(name);
    duckdb_free(const_cast<char*>(name));
    if (!columns.empty()) columns += ", ";
    if (LayoutOf(type) != Layout::kOther) {
      columns += quoted;
    } else {
      columns += "CAST(" + quoted + (type == DUCKDB_TYPE_DECIMAL ? " AS DOUBLE)" : " AS VARCHAR)") +
                 " AS " + quoted;
    }
  }
  const size_t end = sql.find_last_not_of("; \t\r\n");
  return "SELECT " + columns + " FROM (" + sql.substr(0, end + 1) + "\n)";
}

// Whether this word, in small letters, is there by itself, in whatever letters.
bool HasWord(std::string_view sql, std::string_view word) {
  const auto is_part = [](char c) {
    return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  std::string small(sql);
  for (char& c : small) c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
  for (size_t at = small.find(word); at != std::string::npos; at = small.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_part(small[at - 1])) && (end == small.size() || !is_part(small[end])))
      return true;
  }
  return false;
}

bool ReadsAllColumns(duckdb_prepared_statement statement) {
  for (idx_t i = 0; i < duckdb_prepared_statement_column_count(statement); ++i)
    if (LayoutOf(duckdb_prepared_statement_column_type(statement, i)) == Layout::kOther)
      return false;
  return true;
}

int64_t Clamp(duckdb_hugeint value) {
  if (value.upper > 0 || (value.upper == 0 && value.lower > INT64_MAX)) return INT64_MAX;
  if (value.upper < -1 || (value.upper == -1 && value.lower < (1ull << 63))) return INT64_MIN;
  return static_cast<int64_t>(value.lower);
}

// Tells of progress while a statement is executed, on a thread of its own: the one that executes
// may be in a single step for long. Ends with the object.
class Watch {
 public:
  Watch(duckdb_connection connection, const std::function<bool(double)>& progress, bool* given_up) {
    if (!progress) return;
    thread_ = std::jthread([=, this](const std::stop_token& stop) {
      std::unique_lock lock(mutex_);
      while (!wake_.wait_for(lock, stop, kProgressPeriod, [&] { return stop.stop_requested(); })) {
        if (progress(duckdb_query_progress(connection).percentage)) continue;
        *given_up = true;
        duckdb_interrupt(connection);
      }
    });
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it uses the others
};

struct Statement {
  duckdb_prepared_statement handle = nullptr;
  Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { duckdb_destroy_prepare(&handle); }
};

}  // namespace

std::string Literal(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\0') continue;  // would end the statement
    quoted += c == '\'' ? std::string("''") : std::string(1, c);
  }
  return quoted + "'";
}

std::string Identifier(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// --- rows

struct Rows::State {
  duckdb_result result{};
  duckdb_data_chunk chunk = nullptr;
  idx_t size = 0;  // of the chunk
  idx_t row = 0;
  struct Column {
    std::string name;
    Layout layout;
    const void* data = nullptr;
    uint64_t* validity = nullptr;  // null: nothing is NULL
  };
  std::vector<Column> columns;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (chunk != nullptr) duckdb_destroy_data_chunk(&chunk);
    duckdb_destroy_result(&result);
  }

  template <typename T>
  const T& At(const Column& column) const {
    return static_cast<const T*>(column.data)[row];
  }
};

Rows::Rows(std::unique_ptr<State> state) : state_(std::move(state)) {}
Rows::Rows(Rows&&) noexcept = default;
Rows::~Rows() = default;

size_t Rows::columns() const { return state_->columns.size(); }
const std::string& Rows::name(size_t column) const { return state_->columns[column].name; }
Kind Rows::kind(size_t column) const { return KindOf(state_->columns[column].layout); }

base::Result<bool> Rows::Next() {
  State& state = *state_;
  if (++state.row < state.size) return true;
  state.row = 0;
  do {
    if (state.chunk != nullptr) duckdb_destroy_data_chunk(&state.chunk);
    state.chunk = duckdb_fetch_chunk(state.result);
    if (state.chunk == nullptr) {
      state.size = 0;
      const char* error = duckdb_result_error(&state.result);
      if (error != nullptr && *error != '\0') return base::Error{error};
      return false;
    }
    state.size = duckdb_data_chunk_get_size(state.chunk);
  } while (state.size == 0);
  for (size_t i = 0; i < state.columns.size(); ++i) {
    duckdb_vector vector = duckdb_data_chunk_get_vector(state.chunk, i);
    state.columns[i].data = duckdb_vector_get_data(vector);
    state.columns[i].validity = duckdb_vector_get_validity(vector);
  }
  return true;
}

bool Rows::IsNull(size_t column) const {
  uint64_t* validity = state_->columns[column].validity;
  return validity != nullptr && !duckdb_validity_row_is_valid(validity, state_->row);
}

int64_t Rows::Int(size_t column) const {
  if (IsNull(column)) return 0;
  const State::Column& from = state_->columns[column];
  switch (from.layout) {
    case Layout::kBool:
      return state_->At<bool>(from) ? 1 : 0;
    case Layout::kInt8:
      return state_->At<int8_t>(from);
    case Layout::kInt16:
      return state_->At<int16_t>(from);
    case Layout::kInt32:
      return state_->At<int32_t>(from);
    case Layout::kInt64:
      return state_->At<int64_t>(from);
    case Layout::kUint8:
      return state_->At<uint8_t>(from);
    case Layout::kUint16:
      return state_->At<uint16_t>(from);
    case Layout::kUint32:
      return state_->At<uint32_t>(from);
    case Layout::kUint64:
      return static_cast<int64_t>(std::min<uint64_t>(state_->At<uint64_t>(from), INT64_MAX));
    case Layout::kHuge:
      return Clamp(state_->At<duckdb_hugeint>(from));
    case Layout::kUnsignedHuge: {
      const auto& value = state_->At<duckdb_uhugeint>(from);
      return value.upper != 0 ? INT64_MAX
                              : static_cast<int64_t>(std::min<uint64_t>(value.lower, INT64_MAX));
    }
    case Layout::kFloat:
    case Layout::kDouble: {
      const double value = Real(column);
      if (!(value > -9.2e18)) return INT64_MIN;  // a NaN too
      return value < 9.2e18 ? std::llround(value) : INT64_MAX;
    }
    default:
      return 0;
  }
}

double Rows::Real(size_t column) const {
  if (IsNull(column)) return 0;
  const State::Column& from = state_->columns[column];
  if (from.layout == Layout::kFloat) return static_cast<double>(state_->At<float>(from));
  if (from.layout == Layout::kDouble) return state_->At<double>(from);
  return static_cast<double>(Int(column));
}

std::string_view Rows::Text(size_t column) const {
  const State::Column& from = state_->columns[column];
  if (from.layout != Layout::kText || IsNull(column)) return {};
  auto* text = const_cast<duckdb_string_t*>(&state_->At<duckdb_string_t>(from));
  return {duckdb_string_t_data(text), duckdb_string_t_length(*text)};
}

// --- appender

// Rows are gathered in DuckDB's own vectors, which costs a tenth of a call for each value. Tables
// with columns of other types than ours get value by value.
struct Appender::State {
  struct Column {
    duckdb_type type = DUCKDB_TYPE_INVALID;
    duckdb_vector vector = nullptr;
    void* data = nullptr;
  };

  duckdb_appender handle = nullptr;
  bool failed = false;
  bool misfit = false;                // a value that is not of its column's type
  duckdb_data_chunk chunk = nullptr;  // null: value by value
  std::vector<Column> columns;
  size_t column = 0;  // of the next value
  idx_t row = 0;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (chunk != nullptr) duckdb_destroy_data_chunk(&chunk);
    duckdb_appender_destroy(&handle);
  }
  void Check(duckdb_state state) { failed |= state == DuckDBError; }

  void MakeChunk() {
    std::vector<duckdb_logical_type> types;
    bool known = true;
    for (idx_t i = 0; i < duckdb_appender_column_count(handle); ++i) {
      types.push_back(duckdb_appender_column_type(handle, i));
      columns.push_back({.type = duckdb_get_type_id(types.back())});
      const duckdb_type type = columns.back().type;
      known &=
          type == DUCKDB_TYPE_BIGINT || type == DUCKDB_TYPE_DOUBLE || type == DUCKDB_TYPE_VARCHAR;
    }
    if (known) {
      chunk = duckdb_create_data_chunk(types.data(), types.size());
      Point();
    }
    for (duckdb_logical_type& type : types) duckdb_destroy_logical_type(&type);
  }

  void Point() {
    for (size_t i = 0; i < columns.size(); ++i) {
      columns[i].vector = duckdb_data_chunk_get_vector(chunk, i);
      columns[i].data = duckdb_vector_get_data(columns[i].vector);
    }
  }

  // Null: the row has more values than the table has columns.
  Column* Next() {
    if (column < columns.size()) return &columns[column++];
    misfit = true;
    return nullptr;
  }

  void EndRow() {
    misfit |= column != columns.size();
    column = 0;
    if (++row == duckdb_vector_size()) Flush();
  }

  void Flush() {
    if (row == 0) return;
    duckdb_data_chunk_set_size(chunk, row);
    Check(duckdb_append_data_chunk(handle, chunk));
    duckdb_data_chunk_reset(chunk);
    Point();
    row = 0;
  }
};

Appender::Appender(std::unique_ptr<State> state) : state_(std::move(state)) {}
Appender::Appender(Appender&&) noexcept = default;
Appender::~Appender() = default;

Appender& Appender::Int(int64_t value) {
  if (state_->chunk == nullptr) {
    state_->Check(duckdb_append_int64(state_->handle, value));
  } else if (State::Column* const column = state_->Next()) {
    if (column->type == DUCKDB_TYPE_BIGINT)
      static_cast<int64_t*>(column->data)[state_->row] = value;
    else if (column->type == DUCKDB_TYPE_DOUBLE)
      static_cast<double*>(column->data)[state_->row] = static_cast<double>(value);
    else
      state_->misfit = true;
  }
  return *this;
}
Appender& Appender::Real(double value) {
  if (state_->chunk == nullptr) {
    state_->Check(duckdb_append_double(state_->handle, value));
  } else if (State::Column* const column = state_->Next()) {
    if (column->type == DUCKDB_TYPE_DOUBLE)
      static_cast<double*>(column->data)[state_->row] = value;
    else
      state_->misfit = true;
  }
  return *this;
}
Appender& Appender::Text(std::string_view value) {
  if (state_->chunk == nullptr) {
    state_->Check(duckdb_append_varchar_length(state_->handle, value.data(), value.size()));
  } else if (State::Column* const column = state_->Next()) {
    if (column->type == DUCKDB_TYPE_VARCHAR)
      duckdb_vector_assign_string_element_len(column->vector, state_->row, value.data(),
                                              value.size());
    else
      state_->misfit = true;
  }
  return *this;
}
Appender& Appender::Null() {
  if (state_->chunk == nullptr) {
    state_->Check(duckdb_append_null(state_->handle));
  } else if (State::Column* const column = state_->Next()) {
    duckdb_vector_ensure_validity_writable(column->vector);
    duckdb_validity_set_row_invalid(duckdb_vector_get_validity(column->vector), state_->row);
  }
  return *this;
}
void Appender::EndRow() {
  if (state_->chunk == nullptr)
    state_->Check(duckdb_appender_end_row(state_->handle));
  else
    state_->EndRow();
}

base::Result<void> Appender::Finish() {
  if (state_->chunk != nullptr) state_->Flush();
  state_->Check(duckdb_appender_close(state_->handle));
  if (!state_->failed && !state_->misfit) return {};
  const char* error = state_->failed ? duckdb_appender_error(state_->handle) : nullptr;
  return base::Error{error != nullptr ? error : "a row does not fit its table"};
}

// --- connection

struct Connection::State {
  std::shared_ptr<void> database;  // a duckdb_database, closed with the last connection to it
  duckdb_connection connection = nullptr;
  std::function<bool(double)> progress;
  std::vector<std::string> allowed_files;
  bool writes_files = true;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { duckdb_disconnect(&connection); }

  // DuckDB lets statements write to the files that it may read; here they are somebody's trace.
  base::Result<void> Allow(const std::string& sql, duckdb_prepared_statement statement) const;
  // Starts the statement and works on it until its rows can be fetched.
  base::Result<void> Execute(duckdb_prepared_statement statement, bool streaming,
                             duckdb_result* result) const;
};

Connection::Connection(std::unique_ptr<State> state) : state_(std::move(state)) {}
Connection::Connection(Connection&&) noexcept = default;
Connection::~Connection() = default;

base::Result<Connection> Connection::Open(const Limits& limits) {
  duckdb_config config = nullptr;
  duckdb_create_config(&config);
  std::vector<std::pair<const char*, std::string>> settings = {
      {"autoinstall_known_extensions", "false"},
      {"autoload_known_extensions", "false"},
      {"integer_division", "true"},  // as SQLite divides
      {"temp_directory", limits.spill_directory.string()},
  };
  // DuckDB's makers sign only what they built themselves. Extensions are loaded by us alone, before
  // Confine.
  if (!BundledExtension("sqlite_scanner").empty())
    settings.emplace_back("allow_unsigned_extensions", "true");
  if (limits.memory_bytes != 0)
    settings.emplace_back("memory_limit", std::to_string(limits.memory_bytes / 1024) + "KiB");
  if (limits.threads != 0) settings.emplace_back("threads", std::to_string(limits.threads));
  for (const auto& [name, value] : settings) {
    if (duckdb_set_config(config, name, value.c_str()) == DuckDBError) {
      duckdb_destroy_config(&config);
      return base::Error{std::string("this DuckDB has no setting ") + name};
    }
  }
  duckdb_database database = nullptr;
  char* error = nullptr;
  const duckdb_state opened = duckdb_open_ext(nullptr, &database, config, &error);
  duckdb_destroy_config(&config);
  if (opened == DuckDBError) {
    base::Error problem{std::string("DuckDB does not start: ") + (error != nullptr ? error : "?")};
    duckdb_free(error);
    return problem;
  }
  auto state = std::make_unique<State>();
  state->database = std::shared_ptr<void>(database, [](void* handle) {
    auto closing = static_cast<duckdb_database>(handle);
    duckdb_close(&closing);
  });
  Connection first(std::move(state));
  return first.Sibling();
}

base::Result<Connection> Connection::Sibling() {
  auto state = std::make_unique<State>();
  state->database = state_->database;
  state->progress = state_->progress;
  state->writes_files = state_->writes_files;
  if (duckdb_connect(static_cast<duckdb_database>(state->database.get()), &state->connection) ==
      DuckDBError)
    return base::Error{"DuckDB gives no connection"};
  Connection sibling(std::move(state));
  // Older releases allow it no more after Confine; then this connection does not know how far it
  // is.
  (void)sibling.Run("SET enable_progress_bar = true; SET enable_progress_bar_print = false").ok();
  return sibling;
}

void Connection::AllowFile(const std::filesystem::path& file) {
  state_->allowed_files.push_back(file.string());
}

base::Result<void> Connection::Confine(const std::filesystem::path& output_folder) {
  std::string files;
  for (const std::string& file : state_->allowed_files)
    files += (files.empty() ? "" : ", ") + Literal(file);
  const std::string folders = output_folder.empty() ? "" : Literal(output_folder.string());
  ROCHOUND_CHECK(Run("SET allowed_paths = [" + files + "]; SET allowed_directories = [" + folders +
                     "]; SET enable_external_access = false"));
  // What Sibling sets. DuckDB knows this list since 2.0.
  (void)Run("SET allowed_configs = ['enable_progress_bar', 'enable_progress_bar_print']").ok();
  ROCHOUND_CHECK(Run("SET lock_configuration = true"));
  state_->writes_files = !output_folder.empty();
  return {};
}

void Connection::set_progress(std::function<bool(double)> progress) {
  state_->progress = std::move(progress);
}

base::Result<void> Connection::State::Allow(const std::string& sql,
                                            duckdb_prepared_statement statement) const {
  if (writes_files) return {};
  const duckdb_statement_type type = duckdb_prepared_statement_type(statement);
  bool refused = type == DUCKDB_STATEMENT_TYPE_COPY || type == DUCKDB_STATEMENT_TYPE_EXPORT ||
                 type == DUCKDB_STATEMENT_TYPE_PREPARE || type == DUCKDB_STATEMENT_TYPE_EXECUTE;
  // What is explained is not told; with ANALYZE it is done.
  if (type == DUCKDB_STATEMENT_TYPE_EXPLAIN)
    refused = HasWord(sql, "analyze") && (HasWord(sql, "copy") || HasWord(sql, "export") ||
                                          HasWord(sql, "prepare") || HasWord(sql, "execute"));
  if (refused) return base::Error{"a query only reads: no COPY, EXPORT, PREPARE or EXECUTE"};
  return {};
}

base::Result<void> Connection::State::Execute(duckdb_prepared_statement statement, bool streaming,
                                              duckdb_result* result) const {
  duckdb_pending_result pending = nullptr;
  const duckdb_state started = streaming ? duckdb_pending_prepared_streaming(statement, &pending)
                                         : duckdb_pending_prepared(statement, &pending);
  auto failure = [&] {
    const char* error = duckdb_pending_error(pending);
    base::Error problem{error != nullptr ? error : "DuckDB refuses the statement"};
    duckdb_destroy_pending(&pending);
    return problem;
  };
  if (started == DuckDBError) return failure();
  bool given_up = false;
  duckdb_state done = DuckDBError;
  {
    const Watch watch(connection, progress, &given_up);
    done = duckdb_execute_pending(pending, result);
  }
  duckdb_destroy_pending(&pending);
  if (done == DuckDBError) {
    const char* error = duckdb_result_error(result);
    base::Error problem{given_up ? "interrupted" : error != nullptr ? error : "DuckDB gave up"};
    duckdb_destroy_result(result);
    return problem;
  }
  return {};
}

base::Result<void> Connection::Run(const std::string& sql) {
  if (!state_->progress &&
      state_->writes_files) {  // half the work: a prepared statement is bound twice
    duckdb_result result{};
    base::Result<void> outcome;
    if (duckdb_query(state_->connection, sql.c_str(), &result) == DuckDBError) {
      const char* error = duckdb_result_error(&result);
      outcome = base::Error{error != nullptr ? error : "DuckDB refuses the statement"};
    }
    duckdb_destroy_result(&result);
    return outcome;
  }
  duckdb_extracted_statements statements = nullptr;
  const idx_t count = duckdb_extract_statements(state_->connection, sql.c_str(), &statements);
  base::Result<void> outcome;
  if (count == 0) {
    const char* error = duckdb_extract_statements_error(statements);
    if (error != nullptr) outcome = base::Error{error};
  }
  for (idx_t i = 0; i < count && outcome.ok(); ++i) {
    Statement statement;
    if (duckdb_prepare_extracted_statement(state_->connection, statements, i, &statement.handle) ==
        DuckDBError) {
      outcome = base::Error{duckdb_prepare_error(statement.handle)};
      break;
    }
    outcome = state_->Allow(sql, statement.handle);
    if (!outcome.ok()) break;
    duckdb_result result{};
    outcome = state_->Execute(statement.handle, false, &result);
    if (outcome.ok()) duckdb_destroy_result(&result);
  }
  duckdb_destroy_extracted(&statements);
  return outcome;
}

base::Result<Rows> Connection::Query(const std::string& sql) {
  auto state = std::make_unique<Rows::State>();
  Statement statement;
  if (duckdb_prepare(state_->connection, sql.c_str(), &statement.handle) == DuckDBError)
    return base::Error{duckdb_prepare_error(statement.handle)};
  ROCHOUND_CHECK(state_->Allow(sql, statement.handle));
  if (duckdb_prepared_statement_type(statement.handle) == DUCKDB_STATEMENT_TYPE_SELECT &&
      !ReadsAllColumns(statement.handle)) {
    const std::string wrapped = Wrapped(sql, statement.handle);
    duckdb_destroy_prepare(&statement.handle);
    if (duckdb_prepare(state_->connection, wrapped.c_str(), &statement.handle) == DuckDBError)
      return base::Error{duckdb_prepare_error(statement.handle)};
  }
  ROCHOUND_CHECK(state_->Execute(statement.handle, true, &state->result));
  for (idx_t i = 0; i < duckdb_column_count(&state->result); ++i) {
    state->columns.push_back({duckdb_column_name(&state->result, i),
                              LayoutOf(duckdb_column_type(&state->result, i)), nullptr, nullptr});
  }
  return Rows(std::move(state));
}

base::Result<int64_t> Connection::Number(const std::string& sql) {
  ROCHOUND_TRY(Rows rows, Query(sql));
  ROCHOUND_TRY(const bool any, rows.Next());
  return any ? rows.Int(0) : 0;
}

base::Result<std::string> Connection::Text(const std::string& sql) {
  ROCHOUND_TRY(Rows rows, Query(sql));
  ROCHOUND_TRY(const bool any, rows.Next());
  return any ? std::string(rows.Text(0)) : std::string();
}

base::Result<Appender> Connection::Append(const std::string& schema, const std::string& table) {
  auto state = std::make_unique<Appender::State>();
  if (duckdb_appender_create(state_->connection, schema.c_str(), table.c_str(), &state->handle) ==
      DuckDBError) {
    const char* error = duckdb_appender_error(state->handle);
    return base::Error{error != nullptr ? error : "there is no table " + table};
  }
  state->MakeChunk();
  return Appender(std::move(state));
}

}  // namespace rochound::store::duck
