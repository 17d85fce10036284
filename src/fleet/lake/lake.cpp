// SPDX-License-Identifier: MIT
#include "fleet/lake/lake.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string_view>
#include <system_error>
#include <tuple>

#include "fleet/storage/s3_object.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using nlohmann::json;
using store::duck::Literal;

// Of the files, in order.
constexpr std::pair<const char*, const char*> kColumns[] = {
    {"tenant", "VARCHAR"},      {"host", "VARCHAR"},       {"epoch", "VARCHAR"},
    {"number", "UBIGINT"},      {"shard", "UINTEGER"},     {"nth", "UBIGINT"},
    {"sequence", "UBIGINT"},    {"job", "VARCHAR"},        {"from_ns", "UBIGINT"},
    {"interval_ns", "UBIGINT"}, {"rank", "BIGINT"},        {"pid", "BIGINT"},
    {"start", "UBIGINT"},       {"gpu", "INTEGER"},        {"kernel", "VARCHAR"},
    {"code_object", "VARCHAR"}, {"rocm", "VARCHAR"},       {"launches", "UBIGINT"},
    {"untimed", "UBIGINT"},     {"work_items", "UBIGINT"}, {"lds", "UBIGINT"},
    {"sum", "UBIGINT"},         {"min", "UBIGINT"},        {"max", "UBIGINT"},
    {"scale", "INTEGER"},       {"zeros", "UBIGINT"},      {"first", "INTEGER"},
    {"buckets", "UBIGINT[]"},   {"loss", "VARCHAR"},       {"lost", "UBIGINT"},
};

// What belongs together is together, so that what is not asked for is skipped.
constexpr const char* kOrder = "job, kernel, host, epoch, number, rank, pid, gpu, code_object";

Result<void> OpenS3(store::duck::Connection& database) {
  ROCHOUND_CHECK(database.Run("LOAD httpfs"));
  const S3Access access = S3AccessFromEnvironment();
  std::string endpoint = access.endpoint;
  const bool plain = endpoint.starts_with("http://");
  if (const size_t scheme = endpoint.find("://"); scheme != std::string::npos)
    endpoint.erase(0, scheme + 3);
  std::string secret =
      fmt::format("CREATE SECRET (TYPE s3, KEY_ID {}, SECRET {}, REGION {}", Literal(access.key),
                  Literal(access.secret), Literal(access.region));
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

// All rows of these files, each message's once.
std::string Select(const std::vector<LakeFile>& files) {
  std::vector<LakeFile> whole;
  std::string parts;
  for (const LakeFile& file : files) {
    if (file.from <= file.stretch.first) {
      whole.push_back(file);
      continue;
    }
    parts += fmt::format(
        "{}SELECT * FROM read_parquet({}, hive_partitioning = false) WHERE sequence >= {}",
        parts.empty() ? "" : " UNION ALL ", Literal(file.path), file.from);
  }
  if (whole.empty()) return parts;
  return fmt::format("SELECT * FROM read_parquet({}, hive_partitioning = false){}{}", List(whole),
                     parts.empty() ? "" : " UNION ALL ", parts);
}

std::string CodePath(const std::string& tenant, const std::string& hash) {
  return fmt::format("code/tenant={}/{}.parquet", tenant, hash);
}

std::string FromHex(std::string_view text) {
  std::string bytes(text.size() / 2, '\0');
  const auto digit = [](char one) {
    return static_cast<unsigned>(one <= '9' ? one - '0' : (one | 0x20) - 'a' + 10);
  };
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  return bytes;
}

bool IsHash(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
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
    if (covered) continue;
    const bool overlaps = !live.empty() && live.back().stretch.tenant == file.stretch.tenant &&
                          live.back().stretch.shard == file.stretch.shard &&
                          live.back().stretch.created == file.stretch.created;
    file.from =
        overlaps ? std::max(file.stretch.first, live.back().stretch.last + 1) : file.stretch.first;
    live.push_back(std::move(file));
  }
  return live;
}

Result<Lake> Lake::Open(const std::string& root) {
  store::duck::Limits limits;
  limits.memory_bytes = uint64_t{1} << 30;
  ROCHOUND_TRY(auto scratch, base::TempDir::Create(fs::temp_directory_path(), "rochound-lake-"));
  limits.spill_directory = scratch.path() / "spilled";
  ROCHOUND_TRY(auto opened, store::duck::Connection::Open(limits));
  auto database = std::make_unique<store::duck::Connection>(std::move(opened));
  // Files are never changed: a name that was read once need not be looked into again.
  ROCHOUND_CHECK(database->Run("SET parquet_metadata_cache = true"));
  Lake lake(root, std::move(database), std::move(scratch));
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
  ROCHOUND_TRY(auto files, AllFiles(tenant));
  return Live(std::move(files));
}

Result<std::vector<LakeFile>> Lake::AllFiles(const std::string& tenant) {
  const std::string pattern =
      fmt::format("{}/sketches/tenant={}/day=*/*.parquet", root_, tenant.empty() ? "*" : tenant);
  ROCHOUND_TRY(auto rows, database_->Query("SELECT file FROM glob(" + Literal(pattern) + ")"));
  std::vector<LakeFile> files;
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) break;
    LakeFile file;
    file.path = rows.Text(0);
    if (!ParseStretchPath(file.path, &file.stretch)) continue;
    file.from = file.stretch.first;
    files.push_back(std::move(file));
  }
  return files;
}

Result<void> Lake::WriteFile(const std::string& select, const std::string& wanted) {
  std::string made = wanted;
  if (!remote()) {
    // Beside the place where it appears, under a name that nobody reads.
    const fs::path folder = fs::path(wanted).parent_path();
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return base::ErrnoError("cannot make", folder, error.value());
    std::random_device random;
    made = (folder / fmt::format(".{}-{:08x}.partial", getpid(), random())).string();
  }
  ROCHOUND_CHECK(database_->Run(
      fmt::format("COPY ({}) TO {} (FORMAT parquet, COMPRESSION zstd)", select, Literal(made))));
  if (!remote()) {
    std::error_code error;
    fs::rename(made, wanted, error);
    if (error) return base::ErrnoError("cannot rename", made, error.value());
  }
  return {};
}

Result<void> Lake::Write(const Stretch& stretch, const std::vector<json>& rows) {
  const fs::path lines = scratch_.path() / "rows.json";
  {
    std::ofstream out(lines, std::ios::binary);
    for (const json& row : rows)
      out << row.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
    if (!out.flush()) return base::ErrnoError("cannot write", lines, errno);
  }
  std::string columns;
  for (const auto& [name, type] : kColumns)
    columns += fmt::format("{}'{}': '{}'", columns.empty() ? "" : ", ", name, type);
  const auto written = WriteFile(
      fmt::format("SELECT * FROM read_json({}, format = 'newline_delimited', columns = {{{}}}) "
                  "ORDER BY {}",
                  Literal(lines.string()), columns, kOrder),
      root_ + "/" + StretchPath(stretch));
  std::error_code error;
  fs::remove(lines, error);
  return written;
}

Result<std::vector<uint64_t>> Lake::CountRows(const std::vector<LakeFile>& files) {
  std::map<std::string, uint64_t> counts;
  if (!files.empty()) {
    ROCHOUND_TRY(auto rows,
                 database_->Query(fmt::format(
                     "SELECT file_name, num_rows FROM parquet_file_metadata({})", List(files))));
    for (;;) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      counts[std::string(rows.Text(0))] = static_cast<uint64_t>(rows.Int(1));
    }
  }
  std::vector<uint64_t> ordered;
  for (const LakeFile& file : files) {
    const auto found = counts.find(file.path);
    if (found == counts.end()) return Error{"cannot count the rows of " + file.path};
    ordered.push_back(found->second);
  }
  return ordered;
}

Result<LakeFile> Lake::Merge(const std::vector<LakeFile>& files) {
  LakeFile merged;
  merged.stretch = files.front().stretch;
  merged.stretch.last = files.back().stretch.last;
  merged.from = merged.stretch.first;
  merged.path = root_ + "/" + StretchPath(merged.stretch);
  ROCHOUND_TRY(const int64_t before,
               database_->Number("SELECT count(*) FROM (" + Select(files) + ")"));
  ROCHOUND_CHECK(
      WriteFile(fmt::format("SELECT * FROM ({}) ORDER BY {}", Select(files), kOrder), merged.path));
  ROCHOUND_TRY(const auto after, CountRows({merged}));
  if (after.front() != static_cast<uint64_t>(before))
    return Error{fmt::format("'{}' has {} rows instead of {}: remove it", merged.path,
                             after.front(), before)};
  return merged;
}

Result<void> Lake::Remove(const LakeFile& file) {
  if (remote()) return DeleteObject(file.path);
  std::error_code error;
  fs::remove(file.path, error);
  if (error) return base::ErrnoError("cannot remove", file.path, error.value());
  return {};
}

void Lake::RemoveLeftovers(const std::string& tenant, std::chrono::seconds age) {
  if (remote()) return;  // an object that was not finished is none
  const fs::path folder = root_ + "/sketches/tenant=" + tenant;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code inner;
    if (it->path().extension() == ".partial" &&
        fs::last_write_time(it->path(), inner) < fs::file_time_type::clock::now() - age && !inner)
      fs::remove(it->path(), inner);
  }
}

Result<void> Lake::WriteCode(const std::string& tenant, const Code& code) {
  const fs::path bytes = scratch_.path() / "code";
  ROCHOUND_CHECK(base::WriteFile(bytes, code.bytes));
  const auto written =
      WriteFile(fmt::format("SELECT {} AS hash, size::UBIGINT AS bytes, {} AS origin, {} AS host, "
                            "{}::UBIGINT AS stored_ns, content FROM read_blob({})",
                            Literal(code.hash), Literal(code.origin), Literal(code.host),
                            code.stored_ns, Literal(bytes.string())),
                root_ + "/" + CodePath(tenant, code.hash));
  std::error_code error;
  fs::remove(bytes, error);
  return written;
}

Result<std::vector<std::string>> Lake::CodeHashes(const std::string& tenant) {
  const std::string pattern = root_ + "/" + CodePath(tenant, "*");
  ROCHOUND_TRY(auto rows, database_->Query("SELECT file FROM glob(" + Literal(pattern) + ")"));
  std::vector<std::string> hashes;
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) return hashes;
    std::string hash = fs::path(rows.Text(0)).stem();
    if (IsHash(hash)) hashes.push_back(std::move(hash));
  }
}

Result<Lake::Code> Lake::ReadCode(const std::string& tenant, const std::string& start,
                                  bool with_bytes) {
  ROCHOUND_TRY(const auto hashes, CodeHashes(tenant));
  std::vector<std::string> found;
  for (const std::string& hash : hashes)
    if (!start.empty() && hash.starts_with(start)) found.push_back(hash);
  if (found.empty())
    return Error{
        fmt::format("the lake has no code object '{}'; `rochound-fleet kernels` shows "
                    "hashes, and {} code objects are kept",
                    start, hashes.size())};
  if (found.size() > 1)
    return Error{
        fmt::format("'{}' is the beginning of {} hashes: write more of it", start, found.size())};
  Code code;
  ROCHOUND_TRY(auto rows, database_->Query(
                              fmt::format("SELECT hash, origin, host, stored_ns::BIGINT, {} FROM "
                                          "read_parquet({}, hive_partitioning = false)",
                                          with_bytes ? "hex(content)" : "''",
                                          Literal(root_ + "/" + CodePath(tenant, found.front())))));
  ROCHOUND_TRY(const bool more, rows.Next());
  if (!more) return Error{"the code object's file is empty"};
  code.hash = rows.Text(0);
  code.origin = rows.Text(1);
  code.host = rows.Text(2);
  code.stored_ns = static_cast<uint64_t>(rows.Int(3));
  code.bytes = FromHex(rows.Text(4));
  return code;
}

Result<Lake::Numbers> Lake::LastNumbers(const std::string& tenant, uint32_t shard) {
  Numbers numbers;
  ROCHOUND_TRY(const bool there, MakeView(tenant));
  if (!there) return numbers;
  ROCHOUND_TRY(auto rows, database_->Query(fmt::format("SELECT host, epoch, max(nth) FROM sketches "
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
                                 "make_timestamp_ns(from_ns::BIGINT) AS from_time FROM ({})",
                                 Select(files))));
  return true;
}

}  // namespace rochound::fleet
