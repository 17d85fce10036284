// SPDX-License-Identifier: MIT
#include "store/open/source.h"

#include <array>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/files.h"
#include "store/open/inflating_file.h"
#include "store/open/source_rocprof_json.h"
#include "store/open/trace_tables.h"
#include "store/rpd/database.h"
#include "trace/reader.h"

namespace rochound::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSqliteMagic{"SQLite format 3\0", 16};
constexpr std::string_view kGzipMagic = "\x1f\x8b";

base::Error NotATrace(const fs::path& path, const std::string& why) {
  return base::Error{
      "'" + path.string() + "' is not a trace that rochound reads: " + why +
      ". It reads flight logs, .rpd, rocprofv3's rocpd databases and JSON, PyTorch's "
      "Chrome traces and Parquet folders of its own."};
}

// Unpacked, where it is packed; empty if it cannot be read.
std::string FirstPiece(const fs::path& path) {
  auto file = InflatingFile::Open(path);
  if (!file.ok()) return {};
  const auto piece = file.value().Next();
  return piece.ok() ? std::string(piece.value()) : std::string();
}

base::Result<SourceFormat> DetectFolder(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path / "rocpd_op", error)) return SourceFormat::kParquet;
  if (trace::IsLogFolder(path)) return SourceFormat::kFlightLog;
  fs::directory_iterator(path, error);
  if (error) return NotATrace(path, error.message());
  return NotATrace(path, "the folder holds neither a flight log nor Parquet tables");
}

base::Result<SourceFormat> DetectDatabase(const fs::path& path) {
  ROCHOUND_TRY(Database database, Database::Open(path, Database::Mode::kRead));
  ROCHOUND_TRY(
      const int64_t rpd,
      database.Number("SELECT count(*) FROM sqlite_master WHERE name = 'rocpd_op' AND type "
                      "= 'table'"));
  if (rpd > 0) return SourceFormat::kRpd;
  ROCHOUND_TRY(const int64_t rocpd,
               database.Number("SELECT count(*) FROM sqlite_master WHERE name LIKE "
                               "'rocpd_kernel_dispatch%' OR name LIKE 'rocpd_info_process%'"));
  if (rocpd > 0) return SourceFormat::kRocpd;
  return NotATrace(path, "the SQLite database has no rocpd tables");
}

}  // namespace

bool IsPackedDatabase(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  std::array<char, 2> start{};
  file.read(start.data(), start.size());
  return std::string_view(start.data(), static_cast<size_t>(file.gcount())) == kGzipMagic &&
         FirstPiece(path).starts_with(kSqliteMagic);
}

const char* FormatName(SourceFormat format) {
  switch (format) {
    case SourceFormat::kFlightLog:
      return "flight log";
    case SourceFormat::kRpd:
      return "rpd";
    case SourceFormat::kRocpd:
      return "rocpd";
    case SourceFormat::kRocprofJson:
      return "rocprofv3 json";
    case SourceFormat::kKineto:
      return "kineto";
    case SourceFormat::kParquet:
      return "parquet";
  }
  return "?";
}

base::Result<SourceFormat> DetectFormat(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error) return base::ErrnoError("cannot open", path, error.value());
  if (status.type() == fs::file_type::directory) return DetectFolder(path);
  if (status.type() != fs::file_type::regular)
    return NotATrace(path, "it is neither a file nor a folder");
  std::ifstream file(path, std::ios::binary);
  std::array<char, 16> start{};
  if (!file) return base::ErrnoError("cannot open", path, errno);
  file.read(start.data(), start.size());
  const std::string_view seen(start.data(), static_cast<size_t>(file.gcount()));
  if (seen.empty()) return NotATrace(path, "the file is empty");
  if (seen == kSqliteMagic) return DetectDatabase(path);
  const size_t text = seen.find_first_not_of(" \t\r\n");
  if (seen.substr(0, 2) == kGzipMagic ||
      (text != std::string_view::npos && (seen[text] == '{' || seen[text] == '[')))
    return LooksLikeRocprofJson(FirstPiece(path)) ? SourceFormat::kRocprofJson
                                                  : SourceFormat::kKineto;
  return NotATrace(path, "its first bytes are of no format we know");
}

base::Result<SourceFacts> FactsOf(duck::Connection& connection, const std::string& schema) {
  SourceFacts facts;
  const std::string in = duck::Identifier(schema) + ".";
  ROCHOUND_TRY(
      duck::Rows rows,
      connection.Query("SELECT max(session), max(pid), min(host), (SELECT max(value) FROM " + in +
                       "rocpd_metadata WHERE tag = 'rochound_realtime_offset_ns') FROM " + in +
                       "rochound_process"));
  ROCHOUND_TRY(const bool any, rows.Next());
  if (!any) return facts;
  facts.sessions = rows.Int(0) + 1;
  facts.nodes = rows.Int(1) / kPidStride + 1;
  facts.host = rows.Text(2);
  if (const std::string offset(rows.Text(3)); !offset.empty())
    facts.realtime_offset_ns = strtoll(offset.c_str(), nullptr, 10);
  return facts;
}

}  // namespace rochound::store
