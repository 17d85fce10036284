// SPDX-License-Identifier: MIT
#include "profile/rocpd_counters.h"

#include <fmt/format.h>

#include <set>

#include "store/rpd/database.h"

namespace rochound::profile {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;

// Tables that end in this text belong to one process.
constexpr std::string_view kDispatches = "rocpd_kernel_dispatch";

std::string Quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"') text += c;
    text += c;
  }
  return text + "\"";
}

Result<std::set<std::string>> TablesOf(store::Database& database) {
  std::set<std::string> names;
  ROCHOUND_TRY(store::Statement statement,
               database.Prepare("SELECT name FROM sqlite_master WHERE type = 'table'"));
  for (;;) {
    ROCHOUND_TRY(const bool row, statement.Step());
    if (!row) return names;
    names.insert(statement.Text(0));
  }
}

Result<bool> HasColumn(store::Database& database, const std::string& table, const char* column) {
  ROCHOUND_TRY(const int64_t count,
               database.Number(fmt::format(
                   "SELECT count(*) FROM pragma_table_info('{}') WHERE name = '{}'",
                   [&] {
                     std::string text;
                     for (const char c : table) text += c == '\'' ? "''" : std::string(1, c);
                     return text;
                   }(),
                   column)));
  return count != 0;
}

std::array<uint64_t, 3> Sizes(const store::Statement& row, int column) {
  std::array<uint64_t, 3> sizes{};
  for (int i = 0; i < 3; ++i)
    sizes[i] = static_cast<uint64_t>(std::max<int64_t>(0, row.Int(column + i)));
  return sizes;
}

// One process. Returns how many counters it has.
Result<uint64_t> ReadPart(store::Database& database, const std::set<std::string>& tables,
                          const std::string& suffix, CounterSet* set) {
  const auto name = [&](const char* table) { return std::string(table) + suffix; };
  for (const char* table : {"rocpd_info_kernel_symbol", "rocpd_info_process", "rocpd_info_agent"})
    if (!tables.contains(name(table))) return Error{"there is no " + name(table)};
  const bool has_code = tables.contains(name("rocpd_info_code_object"));
  ROCHOUND_TRY(store::Statement dispatches,
               database.Prepare(fmt::format(
                   "SELECT d.event_id, p.pid, d.dispatch_id, s.kernel_name, a.name, d.start, "
                   "d.\"end\", d.grid_size_x, d.grid_size_y, d.grid_size_z, d.workgroup_size_x, "
                   "d.workgroup_size_y, d.workgroup_size_z, {} FROM {} d "
                   "LEFT JOIN {} s ON s.id = d.kernel_id LEFT JOIN {} p ON p.id = d.pid "
                   "LEFT JOIN {} a ON a.id = d.agent_id {} ORDER BY d.dispatch_id, d.id",
                   has_code ? "c.uri" : "NULL", Quoted(name("rocpd_kernel_dispatch")),
                   Quoted(name("rocpd_info_kernel_symbol")), Quoted(name("rocpd_info_process")),
                   Quoted(name("rocpd_info_agent")),
                   has_code ? fmt::format("LEFT JOIN {} c ON c.id = s.code_object_id",
                                          Quoted(name("rocpd_info_code_object")))
                            : "")));
  std::map<int64_t, size_t> places;  // of launches, by event
  for (;;) {
    ROCHOUND_TRY(const bool row, dispatches.Step());
    if (!row) break;
    if (dispatches.IsNull(3)) return Error{"a dispatch is of a kernel that is not described"};
    Launch launch;
    launch.process = static_cast<uint64_t>(dispatches.Int(1));
    launch.order = static_cast<uint64_t>(dispatches.Int(2));
    launch.kernel = dispatches.Text(3);
    if (launch.kernel.ends_with(".kd")) launch.kernel.resize(launch.kernel.size() - 3);
    launch.target = dispatches.Text(4);
    if (dispatches.Int(6) > dispatches.Int(5) && dispatches.Int(5) >= 0)
      launch.nanoseconds = static_cast<double>(dispatches.Int(6) - dispatches.Int(5));
    launch.grid = Sizes(dispatches, 7);
    launch.workgroup = Sizes(dispatches, 10);
    launch.code_object = StableUri(dispatches.Text(13));
    if (!dispatches.IsNull(0)) places.emplace(dispatches.Int(0), set->launches.size());
    set->launches.push_back(std::move(launch));
  }
  if (!tables.contains(name("rocpd_pmc_event")) || !tables.contains(name("rocpd_info_pmc")))
    return uint64_t{0};
  // Since 3.0.3 values of streaming counters are there, too: at a time, not of a dispatch.
  ROCHOUND_TRY(const bool has_samples, HasColumn(database, name("rocpd_pmc_event"), "sample_id"));
  ROCHOUND_TRY(store::Statement values,
               database.Prepare(fmt::format(
                   "SELECT v.event_id, n.name, v.value FROM {} v JOIN {} n ON n.id = v.pmc_id "
                   "WHERE v.value IS NOT NULL{}",
                   Quoted(name("rocpd_pmc_event")), Quoted(name("rocpd_info_pmc")),
                   has_samples ? " AND v.sample_id IS NULL" : "")));
  uint64_t counters = 0;
  for (;;) {
    ROCHOUND_TRY(const bool row, values.Step());
    if (!row) return counters;
    const auto place = places.find(values.Int(0));
    if (place == places.end()) continue;
    // Instances of a counter are added up.
    set->launches[place->second].exact[values.Text(1)] += values.Real(2);
    ++counters;
  }
}

}  // namespace

std::string StableUri(const std::string& uri) {
  if (uri.starts_with("file://")) return uri;
  constexpr std::string_view kSize = "size=";
  const size_t at = uri.find(kSize);
  return at == std::string::npos ? "" : "memory, " + uri.substr(at);
}

Result<CounterSet> ReadRocpdCounters(const fs::path& file) {
  auto database = store::Database::Open(file, store::Database::Mode::kRead);
  if (!database.ok()) return database.error();
  const auto tables = TablesOf(database.value());
  if (!tables.ok()) return tables.error().In(file.string());
  CounterSet set;
  uint64_t counters = 0;
  bool any = false;
  for (const std::string& table : tables.value()) {
    if (!table.starts_with(kDispatches)) continue;
    const auto found =
        ReadPart(database.value(), tables.value(), table.substr(kDispatches.size()), &set);
    if (!found.ok())
      return found.error().In(fmt::format("{} is not as rocprofv3 writes it", file.string()));
    counters += found.value();
    any = true;
  }
  if (!any) return Error{fmt::format("{} is no rocpd file of rocprofv3", file.string())};
  if (counters == 0) {
    return Error{fmt::format("{} has no counters; rocprofv3 --pmc writes them", file.string())};
  }
  return set;
}

}  // namespace rochound::profile
