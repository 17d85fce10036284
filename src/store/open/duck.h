// SPDX-License-Identifier: MIT
//
// DuckDB behind Result: an in-memory database with one connection, its answers row by row, and a
// quick way in for many rows. The engine of everything that is asked about a trace. One thread
// calls; DuckDB uses more. Answers are streamed: their memory does not grow with their size. While
// the rows of one are being read, its connection can do nothing else; a Sibling can. Errors carry
// DuckDB's own words.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rochound::store::duck {

// What a column of an answer holds, as far as we tell kinds apart.
enum class Kind { kInteger, kReal, kText };

// The rows of an answer. Numbers that int64 cannot hold (sums) are kept at its limits; lists and
// other nested values are their text.
class Rows {
 public:
  Rows(Rows&&) noexcept;
  Rows& operator=(Rows&&) = delete;
  ~Rows();

  size_t columns() const;
  const std::string& name(size_t column) const;
  Kind kind(size_t column) const;

  // Goes to the next row. False: there is none.
  base::Result<bool> Next();

  // Of the current row. A NULL is zero or empty.
  bool IsNull(size_t column) const;
  int64_t Int(size_t column) const;
  double Real(size_t column) const;
  // Until the next Next.
  std::string_view Text(size_t column) const;

 private:
  friend class Connection;
  struct State;
  explicit Rows(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Appends rows to a table, a thousand times quicker than INSERT. Values in the order of the
// columns.
class Appender {
 public:
  Appender(Appender&&) noexcept;
  Appender& operator=(Appender&&) = delete;
  ~Appender();

  Appender& Int(int64_t value);
  Appender& Real(double value);
  Appender& Text(std::string_view value);
  Appender& Null();
  void EndRow();
  // Makes the rows visible; a value that did not fit its column is reported here.
  base::Result<void> Finish();

 private:
  friend class Connection;
  struct State;
  explicit Appender(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct Limits {
  uint64_t memory_bytes = 0;              // 0: DuckDB's own idea, 80% of the machine
  int threads = 0;                        // 0: as many as there are cores
  std::filesystem::path spill_directory;  // what does not fit into memory goes here; empty: nowhere
};

class Connection {
 public:
  // Nothing of DuckDB's that reaches the network, installs anything or loads an extension that was
  // not asked for is switched on.
  static base::Result<Connection> Open(const Limits& limits = {});
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) = delete;
  ~Connection();

  // Another connection to the same database, with the same settings.
  base::Result<Connection> Sibling();

  // A file that statements go on reading after Confine.
  void AllowFile(const std::filesystem::path& file);
  // From now on DuckDB opens no files but those that were allowed, its own spilled ones and what is
  // in this folder (empty: none, and statements write to none); it loads no extension and takes no
  // setting. Holds for all connections to the database and cannot be undone or repeated. A trace
  // may come from anybody and hold SQL: views of an SQLite file are parsed by DuckDB.
  base::Result<void> Confine(const std::filesystem::path& output_folder = {});

  // Runs any number of statements; rows of the last are ignored.
  base::Result<void> Run(const std::string& sql);
  base::Result<Rows> Query(const std::string& sql);
  // The first column of the first row; zero without a row or for NULL.
  base::Result<int64_t> Number(const std::string& sql);
  base::Result<std::string> Text(const std::string& sql);
  base::Result<Appender> Append(const std::string& schema, const std::string& table);

  // Called about ten times a second while a statement takes its time, on another thread while the
  // calling one waits, with the percentage done (negative: not known). False: the statement is
  // given up.
  void set_progress(std::function<bool(double percent)> progress);

 private:
  struct State;
  explicit Connection(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// 'text' with its quotes doubled, and "name" likewise.
std::string Literal(std::string_view text);
std::string Identifier(std::string_view name);

}  // namespace rochound::store::duck
