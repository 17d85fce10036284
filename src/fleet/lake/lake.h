// SPDX-License-Identifier: MIT
//
// The lake: sketches as Parquet files in a folder or on S3 (s3://bucket/prefix), written and read
// by DuckDB. A file holds the messages of one stretch of one stream, and its name says which:
//
//   ROOT/sketches/tenant=T/day=YYYY-MM-DD/SHARD-CREATED-FIRST-LAST.parquet
//
// A file appears whole or not at all, so the names alone say what has been stored: there is no
// other state that could disagree with them. A file whose stretch lies within another's was merged
// into it and does not count; where stretches overlap otherwise (an aggregator that was stopped and
// went on beside its successor), a message counts once. One thread; errors carry DuckDB's words.
//
// Code objects are kept once, by the hash of their bytes:
//
//   ROOT/code/tenant=T/HASH.parquet
//
// On S3 the keys are taken from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL and
// AWS_REGION.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
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
  uint64_t from = 0;  // messages before this one are in the file before; set by Live
};

// Path of a stretch's file below the root, and back. False: it is no such path.
std::string StretchPath(const Stretch& stretch);
bool ParseStretchPath(const std::string& path, Stretch* stretch);
// Without those that were merged into others.
std::vector<LakeFile> Live(std::vector<LakeFile> files);

class Lake {
 public:
  static base::Result<Lake> Open(const std::string& root);

  // Those that count. Of all tenants, if `tenant` is empty.
  base::Result<std::vector<LakeFile>> Files(const std::string& tenant);
  // With those that were merged into others.
  base::Result<std::vector<LakeFile>> AllFiles(const std::string& tenant);

  // One JSON object per row, as LakeRows makes them.
  base::Result<void> Write(const Stretch& stretch, const std::vector<nlohmann::json>& rows);

  // How many rows each of these files has, in their order.
  base::Result<std::vector<uint64_t>> CountRows(const std::vector<LakeFile>& files);
  // Puts these files, which follow each other in one stream and day, into one. They stay.
  base::Result<LakeFile> Merge(const std::vector<LakeFile>& files);
  base::Result<void> Remove(const LakeFile& file);
  // What programs that were killed left half written, if it is older than this.
  void RemoveLeftovers(const std::string& tenant, std::chrono::seconds age);

  struct Code {
    std::string hash;
    std::string bytes;
    std::string origin;      // as the loader named it
    std::string host;        // that it came from
    uint64_t stored_ns = 0;  // CLOCK_REALTIME
  };
  base::Result<void> WriteCode(const std::string& tenant, const Code& code);
  // Hashes of all code objects that are there.
  base::Result<std::vector<std::string>> CodeHashes(const std::string& tenant);
  // By the beginning of its hash; an error if there is none, or several.
  base::Result<Code> ReadCode(const std::string& tenant, const std::string& start,
                              bool with_bytes = true);

  // How many messages of each (host, epoch) the shard has had.
  using Numbers = std::map<std::pair<std::string, std::string>, uint64_t>;
  base::Result<Numbers> LastNumbers(const std::string& tenant, uint32_t shard);

  // Makes the view `sketches` over all files of a tenant. False: there is none yet.
  base::Result<bool> MakeView(const std::string& tenant);
  store::duck::Connection& database() { return *database_; }
  const std::string& root() const { return root_; }

 private:
  Lake(std::string root, std::unique_ptr<store::duck::Connection> database, base::TempDir scratch)
      : root_(std::move(root)), scratch_(std::move(scratch)), database_(std::move(database)) {}
  bool remote() const { return root_.starts_with("s3://"); }
  // Runs a statement that writes the file `wanted`, which then appears whole; `select` gives rows.
  base::Result<void> WriteFile(const std::string& select, const std::string& wanted);

  std::string root_;
  base::TempDir scratch_;
  std::unique_ptr<store::duck::Connection> database_;
};

// A message's rows and losses as rows of the lake. A message may come from anybody who may write to
// the stream: an error says what is wrong with it, and what is no part of a message is left out.
base::Result<std::vector<nlohmann::json>> LakeRows(const nlohmann::json& message,
                                                   uint64_t sequence);

}  // namespace rochound::fleet
