// SPDX-License-Identifier: MIT
#include "store/rpd/rpd_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "store/rpd/rpd_schema.h"

namespace rochound::store {
namespace {

// Nobody else has the file, and a half written one is thrown away: no journal, no waiting for
// disks.
constexpr const char* kFastAndAlone =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;";

constexpr const char* kBigTables[] = {"rocpd_api",           "rocpd_ustring",     "rocpd_op",
                                      "rocpd_api_ops",       "rocpd_kernelapi",   "rocpd_copyapi",
                                      "rocpd_stackframe",    "rochound_dispatch", "rochound_copy",
                                      "rochound_allocation", "rochound_failure"};

// Those whose next id SQLite keeps in a table of its own.
constexpr std::string_view kCounted[] = {"rocpd_api", "rocpd_ustring", "rocpd_op", "rocpd_api_ops",
                                         "rocpd_stackframe"};

}  // namespace

base::Result<std::unique_ptr<RpdFile>> RpdFile::Create(const std::filesystem::path& path) {
  ROCHOUND_CHECK(base::CheckReplaceable(path));
  std::unique_ptr<RpdFile> file(new RpdFile);
  file->path_ = path;
  file->partial_ = path;
  file->partial_ += ".partial-" + std::to_string(getpid());
  std::error_code ignored;
  std::filesystem::remove(file->partial_, ignored);
  ROCHOUND_CHECK(file->MakeSchema());
  return file;
}

RpdFile::~RpdFile() {
  std::error_code ignored;
  if (!partial_.empty()) std::filesystem::remove(partial_, ignored);
}

RpdFile::BigTable* RpdFile::Find(std::string_view name) {
  for (BigTable& table : tables_)
    if (table.name == name) return &table;
  return nullptr;
}

base::Result<void> RpdFile::MakeSchema() {
  struct Roots {
    int64_t table, index;
  };
  std::vector<Roots> roots;
  {
    ROCHOUND_TRY(Database database, Database::Open(partial_, Database::Mode::kCreate));
    ROCHOUND_CHECK(database.Run("PRAGMA page_size = 16384; PRAGMA auto_vacuum = 0;"));
    ROCHOUND_CHECK(database.Run(kFastAndAlone));
    for (const char* sql : {"BEGIN;", kRpdTables, RochoundTables().c_str(), kRpdViews, "COMMIT;"})
      ROCHOUND_CHECK(database.Run(sql));
    ROCHOUND_TRY(
        Statement root,
        database.Prepare("SELECT rootpage FROM sqlite_master WHERE tbl_name = ? AND "
                         "type = ? AND (type = 'table' OR name LIKE 'sqlite_autoindex%')"));
    for (const char* name : kBigTables) {
      Roots found{};
      root.BindAll(std::string_view(name), std::string_view("table"));
      ROCHOUND_TRY(const bool table, root.Step());
      if (!table) return base::Error{std::string("no table ") + name};
      found.table = root.Int(0);
      root.Reset();
      root.BindAll(std::string_view(name), std::string_view("index"));
      ROCHOUND_TRY(const bool index, root.Step());
      if (index) found.index = root.Int(0);
      root.Reset();
      roots.push_back(found);
    }
  }
  ROCHOUND_TRY(file_, PageFile::Open(partial_));
  for (size_t i = 0; i < roots.size(); ++i) {
    BigTable table;
    table.name = kBigTables[i];
    table.tree = std::make_unique<TreeBuilder>(file_.get(), TreeBuilder::Kind::kTable,
                                               static_cast<uint32_t>(roots[i].table));
    if (roots[i].index != 0) {
      table.index = std::make_unique<TreeBuilder>(file_.get(), TreeBuilder::Kind::kIndex,
                                                  static_cast<uint32_t>(roots[i].index));
    }
    tables_.push_back(std::move(table));
  }
  return {};
}

base::Result<void> RpdFile::Finish(const std::function<base::Result<void>(Database&)>& fill) {
  for (BigTable& table : tables_) {
    table.tree->Finish();
    if (table.index) table.index->Finish();
  }
  ROCHOUND_CHECK(file_->Finish());
  file_.reset();
  {
    ROCHOUND_TRY(Database database, Database::Open(partial_, Database::Mode::kWrite));
    ROCHOUND_CHECK(database.Run(kFastAndAlone));
    ROCHOUND_CHECK(database.Run("BEGIN"));
    ROCHOUND_TRY(Statement sequence, database.Prepare("INSERT INTO sqlite_sequence VALUES (?, ?)"));
    for (const std::string_view name : kCounted) {
      const BigTable* table = Find(name);
      if (table->last == 0) continue;
      sequence.BindAll(name, table->last);
      ROCHOUND_CHECK(sequence.Run());
    }
    ROCHOUND_CHECK(fill(database));
    ROCHOUND_CHECK(database.Run(kRpdIndexes));
    ROCHOUND_CHECK(database.Run("COMMIT"));
  }
  if (rename(partial_.c_str(), path_.c_str()) != 0)
    return base::ErrnoError("cannot make", path_, errno);
  partial_.clear();
  return {};
}

}  // namespace rochound::store
