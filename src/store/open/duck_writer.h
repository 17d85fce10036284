// SPDX-License-Identifier: MIT
//
// Writes a trace into tables of an open DuckDB: what is asked about a flight log needs no file in
// between. Rows can be seen after Finish.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/open/duck.h"
#include "store/rpd/trace_writer.h"

namespace rochound::store {

// A table of DuckDB while it is being filled.
template <typename Row>
struct DuckTable {
  std::optional<duck::Appender> rows;
};

class DuckWriter final : public TraceWriter {
 public:
  // Makes the tables in this schema, and the schema where there is none. The connection does
  // nothing else until Finish.
  static base::Result<std::unique_ptr<DuckWriter>> Create(duck::Connection& connection,
                                                          const std::string& schema);

 private:
  DuckWriter() = default;
  template <typename Row>
  void Put(int64_t key, const Row& row);
  template <typename Row>
  base::Result<void> Open(duck::Connection& connection, const std::string& schema);

#define ROCHOUND_WRITE(Row) void Write(int64_t key, const Row& row) override;
  ROCHOUND_TRACE_ROWS(ROCHOUND_WRITE)
#undef ROCHOUND_WRITE
  base::Result<void> Close() override;

  ForEachRow<DuckTable> tables_;
  std::string scratch_;
};

}  // namespace rochound::store
