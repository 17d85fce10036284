// SPDX-License-Identifier: MIT
#include "fleet/lake/lake.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <system_error>
#include <tuple>

#include "base/files.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using nlohmann::json;
using store::duck::Literal;

// Of the files, in order.
constexpr std::pair<const char*, const char*> kColumns[] = {
    {"tenant", "VARCHAR"},      {"host", "VARCHAR"},     {"epoch", "VARCHAR"},
    {"number", "UBIGINT"},      {"shard", "UINTEGER"},   {"nth", "UBIGINT"},
    {"sequence", "UBIGINT"},    {"job", "VARCHAR"},      {"from_ns", "UBIGINT"},
    {"interval_ns", "UBIGINT"}, {"rank", "BIGINT"},      {"pid", "BIGINT"},
    {"start", "UBIGINT"},       {"gpu", "INTEGER"},      {"kernel", "VARCHAR"},
    {"code_object", "VARCHAR"}, {"launches", "UBIGINT"}, {"untimed", "UBIGINT"},
    {"work_items", "UBIGINT"},  {"lds", "UBIGINT"},      {"sum", "UBIGINT"},
    {"min", "UBIGINT"},         {"max", "UBIGINT"},      {"scale", "INTEGER"},
    {"zeros", "UBIGINT"},       {"first", "INTEGER"},    {"buckets", "UBIGINT[]"},
    {"loss", "VARCHAR"},        {"lost", "UBIGINT"},
};

std::string FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<void> OpenS3(store::duck::Connection& database) {
  ROCHOUND_CHECK(database.Run("LOAD httpfs"));
  std::string endpoint = FromEnvironment("AWS_ENDPOINT_URL");
  const bool plain = endpoint.starts_with("http://");
  if (const size_t scheme = endpoint.find("://"); scheme != std::string::npos)
    endpoint.erase(0, scheme + 3);
  const std::string region = FromEnvironment("AWS_REGION");
  std::string secret = fmt::format("CREATE SECRET (TYPE s3, KEY_ID {}, SECRET {}, REGION {}",
                                   Literal(FromEnvironment("AWS_ACCESS_KEY_ID")),
                                   Literal(FromEnvironment("AWS_SECRET_ACCESS_KEY")),
                                   Literal(region.empty() ? "us-east-1" : region));
  if (!endpoint.empty())
    secret += fmt::format(", ENDPOINT {}, URL_STYLE 'path', USE_SSL {}", Literal(endpoint), !plain);
  return database.Run(secret + ")");
}

bool Number(std::string_view* text, uint64_t* value) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *value);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

std::string List(const std::vector<LakeFile>& files) {
  std::string list;
  for (const LakeFile& file : files) list += (list.empty() ? "" : ", ") + Literal(file.path);
  return "[" + list + "]";
}

}  // namespace

std::string StretchPath(const Stretch& stretch) {
  return fmt::format("sketches/tenant={}/day={}/{}-{}-{}-{}.parquet", stretch.tenant, stretch.day,
                     stretch.shard, stretch.created, stretch.first, stretch.last);
}

bool ParseStretchPath(const std::string& path, Stretch* stretch) {
  const size_t begin = path.rfind("sketches/tenant=");
  if (begin == std::string::npos) return false;
  std::string_view rest = std::string_view(path).substr(begin + 16);
  const size_t day = rest.find("/day=");
  if (day == std::string_view::npos) return false;
  stretch->tenant = rest.substr(0, day);
  rest.remove_prefix(day + 5);
  const size_t name = rest.find('/');
  if (name == std::string_view::npos) return false;
  stretch->day = rest.substr(0, name);
  rest.remove_prefix(name + 1);
  uint64_t numbers[4];
  for (int i = 0; i < 4; ++i) {
    if (i != 0) {
      if (!rest.starts_with('-')) return false;
      rest.remove_prefix(1);
    }
    if (!Number(&rest, &numbers[i])) return false;
  }
  stretch->shard = static_cast<uint32_t>(numbers[0]);
  stretch->created = numbers[1];
  stretch->first = numbers[2];
  stretch->last = numbers[3];
  return rest == ".parquet";
}

std::vector<LakeFile> Live(std::vector<LakeFile> files) {
  // The longest stretch first of those that begin at the same place.
  std::sort(files.begin(), files.end(), [](const LakeFile& a, const LakeFile& b) {
    return std::tuple(a.stretch.tenant, a.stretch.shard, a.stretch.created, a.stretch.first,
                      UINT64_MAX - a.stretch.last,
                      a.path) < std::tuple(b.stretch.tenant, b.stretch.shard, b.stretch.created,
                                           b.stretch.first, UINT64_MAX - b.stretch.last, b.path);
  });
  std::vector<LakeFile> live;
  for (LakeFile& file : files) {
    const bool covered = !live.empty() && live.back().stretch.tenant == file.stretch.tenant &&
                         live.back().stretch.shard == file.stretch.shard &&
                         live.back().stretch.created == file.stretch.created &&
                         file.stretch.last <= live.back().stretch.last;
    if (!covered) live.push_back(std::move(file));
  }
  return live;
}

Result<Lake> Lake::Open(const std::string& root) {
  store::duck::Limits limits;
  limits.memory_bytes = uint64_t{1} << 30;
  ROCHOUND_TRY(auto opened, store::duck::Connection::Open(limits));
  auto database = std::make_unique<store::duck::Connection>(std::move(opened));
  Lake lake(root, std::move(database));
  while (lake.root_.ends_with('/')) lake.root_.pop_back();
  if (lake.remote()) {
    ROCHOUND_CHECK(OpenS3(*lake.database_));
  } else {
    std::error_code error;
    fs::create_directories(lake.root_, error);
    if (error) return base::ErrnoError("cannot make", lake.root_, error.value());
  }
  return lake;
}

Result<std::vector<LakeFile>> Lake::Files(const std::string& tenant) {
  const std::string pattern =
      fmt::format("{}/sketches/tenant={}/day=*/*.parquet", root_, tenant.empty() ? "*" : tenant);
  ROCHOUND_TRY(auto rows, database_->Query("SELECT file FROM glob(" + Literal(pattern) + ")"));
  std::vector<LakeFile> files;
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) break;
    LakeFile file;
    file.path = rows.Text(0);
    if (ParseStretchPath(file.path, &file.stretch)) files.push_back(std::move(file));
  }
  return Live(std::move(files));
}

Result<void> Lake::Write(const Stretch& stretch, const std::vector<json>& rows) {
  ROCHOUND_TRY(const auto scratch,
               base::TempDir::Create(fs::temp_directory_path(), "rochound-lake-"));
  const fs::path lines = scratch.path() / "rows.json";
  {
    std::ofstream out(lines, std::ios::binary);
    for (const json& row : rows)
      out << row.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
    if (!out.flush()) return base::ErrnoError("cannot write", lines, errno);
  }
  std::string columns;
  for (const auto& [name, type] : kColumns)
    columns += fmt::format("{}'{}': '{}'", columns.empty() ? "" : ", ", name, type);
  const std::string wanted = root_ + "/" + StretchPath(stretch);
  std::string made = wanted;
  if (!remote()) {
    // Beside the place where it appears, under a name that nobody reads.
    const fs::path folder = fs::path(wanted).parent_path();
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return base::ErrnoError("cannot make", folder, error.value());
    made = (folder / fmt::format(".{}.partial", getpid())).string();
  }
  ROCHOUND_CHECK(database_->Run(fmt::format(
      "COPY (SELECT * FROM read_json({}, format = 'newline_delimited', columns = {{{}}}) "
      "ORDER BY job, kernel, host, number) TO {} (FORMAT parquet, COMPRESSION zstd)",
      Literal(lines.string()), columns, Literal(made))));
  if (!remote()) {
    std::error_code error;
    fs::rename(made, wanted, error);
    if (error) return base::ErrnoError("cannot rename", made, error.value());
  }
  return {};
}

Result<Lake::Numbers> Lake::LastNumbers(const std::string& tenant, uint32_t shard) {
  Numbers numbers;
  ROCHOUND_TRY(const bool there, MakeView(tenant));
  if (!there) return numbers;
  ROCHOUND_TRY(auto rows,
               database_->Query(fmt::format("SELECT host, epoch, max(nth)::BIGINT FROM sketches "
                                            "WHERE shard = {} GROUP BY host, epoch",
                                            shard)));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) return numbers;
    numbers[{std::string(rows.Text(0)), std::string(rows.Text(1))}] =
        static_cast<uint64_t>(rows.Int(2));
  }
}

Result<bool> Lake::MakeView(const std::string& tenant) {
  ROCHOUND_TRY(const auto files, Files(tenant));
  if (files.empty()) return false;
  ROCHOUND_CHECK(
      database_->Run(fmt::format("CREATE OR REPLACE VIEW sketches AS SELECT *, "
                                 "make_timestamp_ns(from_ns::BIGINT) AS from_time "
                                 "FROM read_parquet({}, hive_partitioning = false)",
                                 List(files))));
  return true;
}

std::vector<json> LakeRows(const json& message, uint64_t sequence) {
  json common = {{"sequence", sequence}};
  for (const char* name :
       {"tenant", "host", "epoch", "number", "shard", "nth", "job", "from_ns", "interval_ns"})
    common[name] = message.at(name);
  std::vector<json> rows;
  for (const json& one : message.at("rows")) {
    json row = common;
    row.update(one);
    rows.push_back(std::move(row));
  }
  for (const json& one : message.at("losses")) {
    json row = common;
    row["rank"] = one.at("rank");
    row["pid"] = one.at("pid");
    row["loss"] = one.at("what");
    row["lost"] = one.at("count");
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace rochound::fleet
