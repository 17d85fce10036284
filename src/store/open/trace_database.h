// SPDX-License-Identifier: MIT
//
// A trace that can be asked. Opens one or several sources of any format (source.h) as one set of
// tables (trace_tables.h) with RPD's views, in an in-memory DuckDB; a query written for an .rpd
// works on all of them. Nothing is copied where the format allows reading in place. Used by
// everything that explains, converts or merges; one thread.
//
//   schema source0, source1, ...   each source's tables as they are, where there are several
//   schema main                    the tables of all sources together, and RPD's views
//
// Several sources become one trace as RPD's multi-node files do it: ids are moved by whole
// sessions, every source is a node (pid / 10000000, gpuId / 1000), and times are brought to the
// first source's clock.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "store/open/duck.h"
#include "store/open/source.h"

namespace rochound::store {

struct OpenOptions {
  duck::Limits limits{};
  // RPD's views, for queries by people; what is asked by rochound itself uses the tables. Making
  // them takes longer than a small question.
  bool views = true;
  // Copies the tables into the database: for many questions one after the other, of a trace that is
  // not too large.
  bool load = false;
  // DuckDB is going to write files (ExportParquet, ExportCsv). Otherwise it can open no file but
  // the sources when Open returns; an export confines it to the sources and its own folder.
  bool exports = false;
  // Called while a source is being read that cannot be used in place, or a statement takes long.
  std::function<bool(const std::string& what, double part)> progress{};
};

class TraceDatabase {
 public:
  static base::Result<TraceDatabase> Open(const std::vector<std::filesystem::path>& sources,
                                          const OpenOptions& options = {});

  // An empty trace: tables in main that can be filled. For tests and generators.
  static base::Result<TraceDatabase> Empty(const duck::Limits& limits = {});

  TraceDatabase(TraceDatabase&&) noexcept = default;
  TraceDatabase& operator=(TraceDatabase&&) = delete;

  duck::Connection& connection() { return connection_; }
  const std::vector<std::filesystem::path>& sources() const { return sources_; }
  const std::vector<SourceFormat>& formats() const { return formats_; }

 private:
  explicit TraceDatabase(duck::Connection connection) : connection_(std::move(connection)) {}
  base::Result<SourceFacts> Attach(const std::filesystem::path& path, const std::string& schema,
                                   const OpenOptions& options);
  // A database can only be read unpacked; what it is unpacked into goes with this.
  base::Result<std::filesystem::path> Unpack(const std::filesystem::path& packed);
  base::Result<void> Join(const std::vector<SourceFacts>& facts);
  base::Result<void> Load();
  base::Result<void> Create(const std::string& sql);

  std::vector<base::TempDir> unpacked_;  // outlive the connection
  duck::Connection connection_;
  std::vector<std::filesystem::path> sources_;
  std::vector<SourceFormat> formats_;
};

}  // namespace rochound::store
