// SPDX-License-Identifier: MIT
#include "store/open/trace_database.h"

#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>

#include "store/convert/conversion.h"
#include "store/open/duck_writer.h"
#include "store/open/inflating_file.h"
#include "store/open/source_kineto.h"
#include "store/open/source_rocpd.h"
#include "store/open/source_rocprof_json.h"
#include "store/open/trace_tables.h"
#include "store/rpd/lost_kinds.h"
#include "store/rpd/rpd_schema.h"
#include "trace/reader.h"

namespace rochound::store {
namespace {

// Processes of one host measure the distance between its two clocks a little differently; anything
// below this is the same clock.
constexpr int64_t kSameClock = 10'000'000;

std::string SourceSchema(size_t index) { return "source" + std::to_string(index); }

// How one source's numbers become those of the whole.
struct Placement {
  int64_t session = 0;
  int64_t node = 0;
  int64_t shift = 0;
};

std::string Moved(const TraceColumn& column, const Placement& place) {
  std::string name = duck::Identifier(column.name);
  int64_t distance = 0;
  switch (column.role) {
    case Role::kId:
      distance = place.session << 32;
      break;
    case Role::kSession:
      distance = place.session;
      break;
    case Role::kTime:
      distance = place.shift;
      break;
    case Role::kPid:
      distance = place.node * kPidStride;
      break;
    case Role::kGpu:
      distance = place.node * kGpuStride;
      break;
    case Role::kValue:
      break;
  }
  if (distance == 0) return name;
  return name + " + (" + std::to_string(distance) + ") AS " + name;
}

// What is true of the whole, not of one source.
std::string MetadataView(const std::vector<SourceFacts>& facts, int64_t sessions) {
  std::vector<std::pair<std::string, std::string>> rows(std::begin(kRpdMetadata),
                                                        std::end(kRpdMetadata));
  rows.emplace_back("rochound_sources", std::to_string(facts.size()));
  rows.emplace_back("session_count", std::to_string(sessions));
  if (const auto offset = facts[0].realtime_offset_ns; offset.has_value())
    rows.emplace_back("rochound_realtime_offset_ns", std::to_string(offset.value()));
  std::string values;
  int64_t id = 0;
  for (const auto& [tag, value] : rows) {
    values += (values.empty() ? "(" : ", (") + std::to_string(++id) + ", " + duck::Literal(tag) +
              ", " + duck::Literal(value) + ")";
  }
  return "CREATE VIEW rocpd_metadata AS SELECT CAST(id AS BIGINT) AS id, tag, value FROM (VALUES " +
         values + ") v(id, tag, value);\n";
}

}  // namespace

base::Result<TraceDatabase> TraceDatabase::Empty(const duck::Limits& limits) {
  ROCHOUND_TRY(duck::Connection connection, duck::Connection::Open(limits));
  TraceDatabase trace(std::move(connection));
  ROCHOUND_CHECK(trace.connection_.Run(CreateTables("main")));
  ROCHOUND_CHECK(trace.connection_.Run(
      "INSERT INTO rocpd_metadata VALUES (1, 'gpu_stride', '1000'), (2, 'pid_stride', '10000000'), "
      "(3, 'schema_version', '3')"));
  ROCHOUND_CHECK(trace.connection_.Run(kRpdViews));
  return trace;
}

base::Result<std::filesystem::path> TraceDatabase::Unpack(const std::filesystem::path& packed) {
  ROCHOUND_TRY(base::TempDir made,
               base::TempDir::Create(std::filesystem::temp_directory_path(), "rochound-unpacked-"));
  const std::filesystem::path folder = made.path();
  unpacked_.push_back(std::move(made));
  const std::filesystem::path path = folder / packed.stem();
  ROCHOUND_TRY(InflatingFile file, InflatingFile::Open(packed));
  std::ofstream out(path, std::ios::binary);
  while (true) {
    ROCHOUND_TRY(const std::string_view piece, file.Next());
    if (piece.empty()) break;
    out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  }
  out.close();
  if (!out)
    return base::Error{"cannot unpack '" + packed.string() + "' into '" + folder.string() + "'"};
  return path;
}

base::Result<SourceFacts> TraceDatabase::Attach(const std::filesystem::path& source,
                                                const std::string& schema,
                                                const OpenOptions& options) {
  std::filesystem::path path = source;
  if (IsPackedDatabase(source)) {
    ROCHOUND_TRY(path, Unpack(source));
  }
  ROCHOUND_TRY(const SourceFormat format, DetectFormat(path));
  formats_.push_back(format);
  const std::string what = "reading " + path.string();
  SourceProgress progress;
  if (options.progress) progress = [&](double part) { return options.progress(what, part); };
  switch (format) {
    case SourceFormat::kRpd:
      return AttachRpd(connection_, path, schema);
    case SourceFormat::kParquet:
      return AttachParquet(connection_, path, schema);
    case SourceFormat::kFlightLog: {
      ROCHOUND_TRY(const trace::RunLog run, trace::RunLog::Open(path));
      ROCHOUND_TRY(const std::unique_ptr<DuckWriter> tables,
                   DuckWriter::Create(connection_, schema));
      ConversionOptions conversion;
      conversion.tables = tables.get();
      if (options.progress) {
        conversion.progress = [&](uint64_t done, uint64_t records) {
          return options.progress(
              what, records == 0 ? 0 : static_cast<double>(done) / static_cast<double>(records));
        };
      }
      if (auto summary = ConvertRun(run, conversion); !summary.ok()) return summary.error();
      return FactsOf(connection_, schema);
    }
    case SourceFormat::kRocpd:
      return AttachRocpd(connection_, path, schema, progress);
    case SourceFormat::kRocprofJson:
      return AttachRocprofJson(connection_, path, schema, progress);
    case SourceFormat::kKineto:
      return AttachKineto(connection_, path, schema, progress);
  }
  return base::Error{"'" + path.string() + "': no reader for its format"};
}

base::Result<TraceDatabase> TraceDatabase::Open(const std::vector<std::filesystem::path>& sources,
                                                const OpenOptions& options) {
  if (sources.empty()) return base::Error{"no trace was named"};
  ROCHOUND_TRY(duck::Connection connection, duck::Connection::Open(options.limits));
  TraceDatabase trace(std::move(connection));
  std::vector<SourceFacts> facts;
  for (const std::filesystem::path& path : sources) {
    // A single source's tables are the trace's own.
    const std::string schema = sources.size() == 1 ? "main" : SourceSchema(facts.size());
    ROCHOUND_TRY(SourceFacts one, trace.Attach(path, schema, options));
    facts.push_back(std::move(one));
    trace.sources_.push_back(path);
  }
  if (facts.size() > 1) ROCHOUND_CHECK(trace.Join(facts));
  if (options.load) ROCHOUND_CHECK(trace.Load());
  if (options.views) ROCHOUND_CHECK(trace.Create(kRpdViews));
  if (!options.exports) ROCHOUND_CHECK(trace.connection_.Confine());
  if (options.progress) {
    trace.connection_.set_progress([show = options.progress](double percent) {
      return show("working", percent < 0 ? 0 : percent / 100);
    });
  }
  return trace;
}

base::Result<void> TraceDatabase::Create(const std::string& sql) {
  // In one transaction: for each one, DuckDB opens every SQLite file and reads its schema anew.
  return connection_.Run("BEGIN;" + sql + "COMMIT;");
}

base::Result<void> TraceDatabase::Load() {
  for (const TraceTable& table : TraceTables()) {
    const std::string name = duck::Identifier(table.name);
    // What cannot be renamed as a view is a table that its reader has filled already.
    if (!connection_.Run("ALTER VIEW " + name + " RENAME TO unloaded").ok()) continue;
    ROCHOUND_CHECK(connection_.Run("CREATE TABLE " + name +
                                   " AS SELECT * FROM unloaded;"
                                   "DROP VIEW unloaded;"));
  }
  return {};
}

base::Result<void> TraceDatabase::Join(const std::vector<SourceFacts>& facts) {
  std::vector<Placement> places;
  std::string doubts;  // rows of rochound_lost
  Placement next;
  for (size_t i = 0; i < facts.size(); ++i) {
    Placement place = next;
    const auto first_offset = facts[0].realtime_offset_ns, offset = facts[i].realtime_offset_ns;
    if (i > 0 && offset.has_value() && first_offset.has_value()) {
      place.shift = offset.value() - first_offset.value();
      if (facts[i].host == facts[0].host && std::abs(place.shift) < kSameClock) place.shift = 0;
    } else if (i > 0) {
      const std::string note = "no clock is known that '" + sources_[i].string() + "' and '" +
                               sources_[0].string() + "' share; their times were left as they are";
      doubts += " UNION ALL SELECT " + std::to_string((next.session << 32) - 1) + ", " +
                std::to_string(next.node * kPidStride) + ", " +
                duck::Literal(std::string(lost_kinds::kClock)) + ", 1, " + duck::Literal(note);
    }
    places.push_back(place);
    next.session += facts[i].sessions;
    next.node += facts[i].nodes;
  }
  std::string sql;
  for (const TraceTable& table : TraceTables()) {
    if (std::string_view(table.name) == "rocpd_metadata") {
      sql += MetadataView(facts, next.session);
      continue;
    }
    sql += "CREATE VIEW " + duck::Identifier(table.name) + " AS ";
    for (size_t i = 0; i < facts.size(); ++i) {
      std::string columns;
      for (const TraceColumn& column : table.columns)
        columns += (columns.empty() ? "" : ", ") + Moved(column, places[i]);
      sql += (i == 0 ? "SELECT " : " UNION ALL SELECT ") + columns + " FROM " + SourceSchema(i) +
             "." + duck::Identifier(table.name);
    }
    if (std::string_view(table.name) == "rochound_lost") sql += doubts;
    sql += ";\n";
  }
  return Create(sql);
}

}  // namespace rochound::store
