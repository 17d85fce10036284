// SPDX-License-Identifier: MIT
#include "fleet/bench/lake_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "fleet/history/history.h"
#include "fleet/lake/compact.h"
#include "fleet/lake/lake.h"

namespace rochound::fleet {
namespace {

using base::Result;
using nlohmann::ordered_json;
using store::duck::Literal;

constexpr int kRounds = 5;
constexpr uint64_t kKernels = 100;

// Rows [first, first + rows) as the aggregator would have written them: per minute 100 kernels of
// each of 128 ranks, some 20 buckets wide.
std::string RowsSql(uint64_t first, uint64_t rows) {
  return fmt::format(
      "SELECT 'default' AS tenant, 'host' || (rank // 8) AS host, 'e' || (rank // 8) AS epoch, "
      "minute::UBIGINT + 1 AS number, 0::UINTEGER AS shard, minute::UBIGINT + 1 AS nth, "
      "{} + i // 100 AS sequence, 'job' || (rank // 64) AS job, "
      "(1763337600000000000 + minute * 60000000000)::UBIGINT AS from_ns, "
      "60000000000::UBIGINT AS interval_ns, rank::BIGINT AS rank, (1000 + rank)::BIGINT AS pid, "
      "7::UBIGINT AS start, 1::INTEGER AS gpu, '_ZN4some9namespace6kernel' || k || 'EPKfPfi' AS "
      "kernel, md5((k % 7)::VARCHAR) AS code_object, '7.2.4' AS rocm, 30000::UBIGINT AS launches, "
      "0::UBIGINT AS untimed, 30720000::UBIGINT AS work_items, 0::UBIGINT AS lds, "
      "(30000 * 2000 * (1 + k))::UBIGINT AS sum, (1500 * (1 + k))::UBIGINT AS min, "
      "(3000 * (1 + k))::UBIGINT AS max, 5::INTEGER AS scale, 0::UBIGINT AS zeros, "
      "(340 + k)::INTEGER AS first, list_transform(range(20), lambda b: 1 + "
      "(hash(i, b) % 2998)::UBIGINT) AS buckets, NULL::VARCHAR AS loss, NULL::UBIGINT AS lost FROM "
      "(SELECT i, i % {} AS k, (i // {}) % 128 AS rank, i // {} AS minute FROM "
      "range({}, {}) t(i)) ORDER BY job, kernel, host, epoch, number, rank",
      first, kKernels, kKernels, 128 * kKernels, first, first + rows);
}

// The median of some rounds, in milliseconds of processor time, of all threads: other work on the
// machine is not counted. Below 0: it failed.
double Measure(const std::function<Result<void>()>& question) {
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    const uint64_t begin = base::ClockNs(CLOCK_PROCESS_CPUTIME_ID);
    if (const auto done = question(); !done.ok()) {
      fmt::print(stderr, "{}\n", done.error().message);
      return -1;
    }
    times.push_back(static_cast<double>(base::ClockNs(CLOCK_PROCESS_CPUTIME_ID) - begin) * 1e-6);
  }
  std::sort(times.begin(), times.end());
  return times[kRounds / 2];
}

Result<void> Drain(store::duck::Connection& database, const std::string& sql) {
  ROCHOUND_TRY(auto rows, database.Query(sql));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) return {};
  }
}

Result<ordered_json> Bench(uint64_t rows, uint64_t files) {
  ROCHOUND_TRY(const auto dir,
               base::TempDir::Create(std::filesystem::temp_directory_path(), "rochound-bench-"));
  ROCHOUND_TRY(auto lake, Lake::Open(dir.path() / "lake"));
  const auto folder = dir.path() / "lake/sketches/tenant=default/day=2025-11-17";
  std::filesystem::create_directories(folder);
  const uint64_t each = std::max<uint64_t>(1, rows / files);
  for (uint64_t i = 0; i < files; ++i)
    ROCHOUND_CHECK(lake.database().Run(fmt::format(
        "COPY ({}) TO {} (FORMAT parquet, COMPRESSION zstd)", RowsSql(i * each, each),
        Literal(
            (folder / fmt::format("0-1-{}-{}.parquet", i * each + 1, (i + 1) * each)).string()))));
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) bytes += entry.file_size();
  ordered_json result = {{"rows", each * files},
                         {"files", files},
                         {"mb", static_cast<double>(bytes) / 1e6},
                         {"launches", each * files * 30000}};
  ROCHOUND_TRY(auto bare, store::duck::Connection::Open({.memory_bytes = uint64_t{1} << 30}));
  const std::string all = Literal(folder.string() + "/*.parquet");
  const std::vector<std::pair<const char*, std::string>> questions = {
      {"time_by_kernel",
       "SELECT kernel, code_object, sum(launches), sum(sum) FROM {} GROUP BY ALL"},
      {"one_kernel_by_host",
       "SELECT host, sum(launches), sum(sum) / sum(launches) FROM {} WHERE kernel = "
       "'_ZN4some9namespace6kernel42EPKfPfi' GROUP BY ALL"},
      {"one_job_by_rank",
       "SELECT rank, max(max), sum(sum) FROM {} WHERE job = 'job1' GROUP BY ALL"}};
  double worst = 0;
  const auto compare = [&](const std::string& when) {
    for (const auto& [name, sql] : questions) {
      const double plain = Measure([&]() -> Result<void> {
        return Drain(bare, fmt::format(fmt::runtime(sql), "read_parquet(" + all + ")"));
      });
      const double ours = Measure([&]() -> Result<void> {
        ROCHOUND_TRY(const bool there, lake.MakeView("default"));
        if (!there) return base::Error{"the lake is empty"};
        return Drain(lake.database(), fmt::format(fmt::runtime(sql), "sketches"));
      });
      result[when + "_" + name + "_ms"] = ours;
      result[when + "_" + name + "_bare_ms"] = plain;
      worst = std::max(worst, ours / plain);
    }
    result[when + "_kernels_command_ms"] = Measure([&]() -> Result<void> {
      ROCHOUND_TRY(const auto kernels, LoadKernels(lake, {}, {"build"}));
      return {};
    });
  };
  compare("many");
  CompactOptions options;
  options.today = "2026-01-01";
  const uint64_t begin = base::ClockNs(CLOCK_PROCESS_CPUTIME_ID);
  ROCHOUND_CHECK(Compact(lake, options));
  result["compaction_ms"] =
      static_cast<double>(base::ClockNs(CLOCK_PROCESS_CPUTIME_ID) - begin) * 1e-6;
  ROCHOUND_CHECK(Compact(lake, options));
  compare("few");
  result["worst_over_bare"] = worst;
  return result;
}

}  // namespace

ordered_json BenchLake(uint64_t rows, uint64_t files) {
  auto result = Bench(rows, files);
  if (result.ok()) return result.value();
  fmt::print(stderr, "{}\n", result.error().message);
  return nullptr;
}

}  // namespace rochound::fleet
