// SPDX-License-Identifier: MIT
//
// An .rpd while it is being made: the schema, its big tables as trees that are filled in the order
// of their keys (sqlite_pages.h), and the small ones by libsqlite3 at the end. The file is written
// beside its place and moved there by Finish, so nobody sees half a trace; without Finish nothing
// is left behind. Used by RpdWriter for flight logs and by ExportRpd for open traces. One thread. A
// failed write is reported by Finish.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/rpd/database.h"
#include "store/rpd/sqlite_pages.h"

namespace rochound::store {

class RpdFile {
 public:
  // A table that is written as pages, and the index of its primary key where that is not the rowid.
  struct BigTable {
    std::string name;
    std::unique_ptr<TreeBuilder> tree;
    std::unique_ptr<TreeBuilder> index;
    int64_t last = 0;  // greatest rowid so far

    void Put(int64_t rowid, const Record& record) {
      tree->AddRow(rowid, record);
      last = rowid;
    }
  };

  static base::Result<std::unique_ptr<RpdFile>> Create(const std::filesystem::path& path);
  ~RpdFile();
  RpdFile(const RpdFile&) = delete;
  RpdFile& operator=(const RpdFile&) = delete;

  // Null: the table is a small one.
  BigTable* Find(std::string_view name);

  // Ends the big tables, has the small ones filled inside one transaction, adds the indexes.
  base::Result<void> Finish(const std::function<base::Result<void>(Database&)>& fill);

 private:
  RpdFile() = default;
  base::Result<void> MakeSchema();

  std::filesystem::path path_;
  std::filesystem::path partial_;
  std::unique_ptr<PageFile> file_;
  std::vector<BigTable> tables_;
};

}  // namespace rochound::store
