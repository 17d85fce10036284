// SPDX-License-Identifier: MIT
//
// Writes a trace.rpd row by row, at millions of rows per second and with the same memory for any
// number of rows but those of the small tables. The file (rpd_file.h) is complete or not there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/rpd/rpd_file.h"
#include "store/rpd/sqlite_pages.h"
#include "store/rpd/trace_writer.h"

namespace rochound::store {

// A table of an .rpd while it is being made.
template <typename Row>
struct RpdTable {
  RpdFile::BigTable* big = nullptr;            // null: a small one
  int64_t rows = 0;                            // of a big one
  std::vector<std::pair<int64_t, Row>> small;  // kept until the end, with their keys
};

class RpdWriter final : public TraceWriter {
 public:
  static base::Result<std::unique_ptr<RpdWriter>> Create(const std::filesystem::path& path);

 private:
  RpdWriter() = default;
  template <typename Row>
  void Put(int64_t key, const Row& row);
  template <typename Row>
  static base::Result<void> Insert(Database& database, const RpdTable<Row>& table);

#define ROCHOUND_WRITE(Row) void Write(int64_t key, const Row& row) override;
  ROCHOUND_TRACE_ROWS(ROCHOUND_WRITE)
#undef ROCHOUND_WRITE
  base::Result<void> Close() override;

  std::unique_ptr<RpdFile> file_;
  ForEachRow<RpdTable> tables_;
  Record record_;
  std::string scratch_;
};

}  // namespace rochound::store
