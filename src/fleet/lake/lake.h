// SPDX-License-Identifier: MIT
//
// The lake: sketches as Parquet files in a folder or on S3 (s3://bucket/prefix), written and read
// by DuckDB. A file holds the messages of one stretch of one stream, and its name says which:
//
//   ROOT/sketches/tenant=T/day=YYYY-MM-DD/SHARD-CREATED-FIRST-LAST.parquet
//
// A file appears whole or not at all, so the names alone say what has been stored: there is no
// other state that could disagree with them. A file whose stretch lies within another's was merged
// into it and does not count. One thread; errors carry DuckDB's words.
//
// On S3 the keys are taken from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL and
// AWS_REGION.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/open/duck.h"

namespace rochound::fleet {

// Which messages a file holds.
struct Stretch {
  std::string tenant;
  std::string day;  // when the stream got them
  uint32_t shard = 0;
  uint64_t created = 0;  // of the stream
  uint64_t first = 0, last = 0;
};

struct LakeFile {
  std::string path;
  Stretch stretch;
};

// Path of a stretch's file below the root, and back. False: it is no such path.
std::string StretchPath(const Stretch& stretch);
bool ParseStretchPath(const std::string& path, Stretch* stretch);
// Without those that were merged into others.
std::vector<LakeFile> Live(std::vector<LakeFile> files);

class Lake {
 public:
  static base::Result<Lake> Open(const std::string& root);

  // Of all tenants, if `tenant` is empty.
  base::Result<std::vector<LakeFile>> Files(const std::string& tenant);

  // One JSON object per row, as LakeRows makes them.
  base::Result<void> Write(const Stretch& stretch, const std::vector<nlohmann::json>& rows);

  // How many messages of each (host, epoch) the shard has had.
  using Numbers = std::map<std::pair<std::string, std::string>, uint64_t>;
  base::Result<Numbers> LastNumbers(const std::string& tenant, uint32_t shard);

  // Makes the view `sketches` over all files of a tenant. False: there is none yet.
  base::Result<bool> MakeView(const std::string& tenant);
  store::duck::Connection& database() { return *database_; }
  const std::string& root() const { return root_; }

 private:
  Lake(std::string root, std::unique_ptr<store::duck::Connection> database)
      : root_(std::move(root)), database_(std::move(database)) {}
  bool remote() const { return root_.starts_with("s3://"); }

  std::string root_;
  std::unique_ptr<store::duck::Connection> database_;
};

// A message's rows and losses as rows of the lake.
std::vector<nlohmann::json> LakeRows(const nlohmann::json& message, uint64_t sequence);

}  // namespace rochound::fleet
