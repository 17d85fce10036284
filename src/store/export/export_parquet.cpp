// SPDX-License-Identifier: MIT
#include "store/export/export_parquet.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/mutex.h"
#include "store/open/trace_tables.h"

namespace rochound::store {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "(FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd";

std::string SessionOf(const TraceTable& table) {
  return duck::Identifier(table.session) + " >> 32";
}

struct Sessions {
  int64_t first = 0, last = 0;
};

base::Result<void> WriteTable(duck::Connection& connection, const TraceTable& table,
                              const Sessions& sessions, const fs::path& folder) {
  const std::string name = duck::Identifier(table.name);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return base::Error{"cannot make '" + folder.string() + "': " + error.message()};
  if (table.session == nullptr) {
    return connection.Run("COPY (SELECT * FROM " + name + " ORDER BY " + table.key + ") TO " +
                          duck::Literal((folder / "all.parquet").string()) + " " + kFormat + ")");
  }
  if (sessions.first == sessions.last) {
    // The order of the rows is kept, which a partitioned COPY does not promise.
    const fs::path place = folder / ("session=" + std::to_string(sessions.first));
    fs::create_directories(place, error);
    return connection.Run("COPY " + name + " TO " +
                          duck::Literal((place / "data_0.parquet").string()) + " " + kFormat + ")");
  }
  return connection.Run("COPY (SELECT *, " + SessionOf(table) + " AS session FROM " + name +
                        ") TO " + duck::Literal(folder.string()) + " " + kFormat +
                        ", PARTITION_BY (session))");
}

// DuckDB reads a SQLite file with one thread, so several tables are written at a time. The calling
// thread works too, and shows how far it is.
base::Result<void> WriteTables(duck::Connection& connection, const Sessions& sessions,
                               const fs::path& folder) {
  constexpr unsigned kMostThreads = 4;
  std::atomic<size_t> next = 0;
  base::Mutex mutex;
  base::Result<void> outcome;
  const auto work = [&](duck::Connection& mine) {
    for (size_t i = next++; i < TraceTables().size(); i = next++) {
      const TraceTable& table = TraceTables()[i];
      const auto written = WriteTable(mine, table, sessions, folder / table.name);
      if (written.ok()) continue;
      next = TraceTables().size();  // nobody begins another
      const base::Lock lock(mutex);
      if (outcome.ok()) outcome = written.error().In("cannot write " + std::string(table.name));
    }
  };
  std::vector<duck::Connection> others;
  for (unsigned i = 1; i < std::min(kMostThreads, std::thread::hardware_concurrency()); ++i) {
    ROCHOUND_TRY(duck::Connection other, connection.Sibling());
    other.set_progress(nullptr);
    others.push_back(std::move(other));
  }
  {
    std::vector<std::jthread> threads;
    for (duck::Connection& other : others) threads.emplace_back([&] { work(other); });
    work(connection);
  }
  return outcome;
}

}  // namespace

base::Result<void> ExportParquet(TraceDatabase& trace, const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error)) {
    return base::Error{"'" + folder.string() + "' is there already; remove it or name another"};
  }
  const fs::path parent = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  ROCHOUND_TRY(base::TempDir partial, base::TempDir::Create(parent, ".rochound-parquet-"));
  Sessions sessions;
  ROCHOUND_TRY(sessions.first,
               trace.connection().Number("SELECT min(session) FROM rochound_process"));
  ROCHOUND_TRY(sessions.last,
               trace.connection().Number("SELECT max(session) FROM rochound_process"));
  ROCHOUND_CHECK(trace.connection().Confine(partial.path()));
  ROCHOUND_CHECK(WriteTables(trace.connection(), sessions, partial.path()));
  fs::permissions(partial.path(), fs::perms(0755), error);
  fs::rename(partial.path(), folder, error);
  if (error) return base::Error{"cannot make '" + folder.string() + "': " + error.message()};
  partial.Release();
  return {};
}

}  // namespace rochound::store
