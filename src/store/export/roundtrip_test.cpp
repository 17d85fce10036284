// SPDX-License-Identifier: MIT
//
// flight log -> .rpd -> Parquet -> .rpd: the same tables with the same rows, as SQLite itself sees
// them, for random logs of several processes. tests/store/roundtrip.py does the same for other
// tools' traces.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/files.h"
#include "store/convert/conversion.h"
#include "store/convert/test_log.h"
#include "store/export/export_parquet.h"
#include "store/export/export_rpd.h"
#include "store/open/trace_database.h"
#include "store/rpd/database.h"
#include "store/rpd/rpd_schema.h"
#include "trace/reader.h"

namespace rochound::store {
namespace {

using Tables = std::map<std::string, std::vector<std::string>>;

// Rows of a question as texts; NULL is told from an empty text.
std::vector<std::string> Ask(const std::filesystem::path& rpd, const std::string& sql) {
  Database database = Database::Open(rpd, Database::Mode::kRead).value();
  auto statement = database.Prepare(sql);
  if (!statement.ok()) {
    ADD_FAILURE() << sql << ": " << statement.error().message;
    return {};
  }
  std::vector<std::string> rows;
  while (statement.value().Step().value()) {
    std::string row;
    for (int i = 0; i < statement.value().columns(); ++i) row += statement.value().Text(i) + "|";
    rows.push_back(row);
  }
  return rows;
}

Tables Dump(const std::filesystem::path& rpd) {
  Tables tables;
  for (std::string name : Ask(rpd,
                              "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT "
                              "LIKE 'sqlite_%'")) {
    name.pop_back();
    std::string columns;
    for (std::string column : Ask(rpd, "SELECT name FROM pragma_table_info('" + name + "')")) {
      column.pop_back();
      columns += (columns.empty() ? "quote(\"" : ", quote(\"") + column + "\")";
    }
    tables[name] = Ask(rpd, "SELECT " + columns + " FROM " + name);
    std::sort(tables[name].begin(), tables[name].end());
  }
  return tables;
}

// A process that does a bit of everything.
void WriteProcess(const std::string& run, std::mt19937& random, size_t steps) {
  TestLog log(run);
  const auto pick = [&](uint64_t below) { return random() % below; };
  for (uint32_t kernel = 1; kernel <= 5; ++kernel)
    log.Kernel(kernel, fmt::format("kernel '{}' \"|\n", kernel));
  for (uint32_t queue = 1; queue <= 3; ++queue)
    log.Queue(queue, static_cast<uint16_t>(1 + queue % 2));
  std::vector<trace::ThreadLog*> threads = {log.NewThread(), log.NewThread()};
  uint64_t now = 2'000'000;
  uint64_t copies = 0;
  std::map<uint32_t, uint64_t> packets;
  for (size_t i = 0; i < steps; ++i) {
    trace::ThreadLog* thread = threads[pick(threads.size())];
    const uint64_t call = thread->NextCorrelation();
    now += 100 + pick(1000);
    switch (pick(5)) {
      case 0:
        log.Call(thread, TestLog::kMalloc, now, now + 50, call, {0x7ffd, now, pick(1 << 20)});
        break;
      case 1:
        log.Copy(thread, call, ++copies, trace::CopyKind::kCopy, 0, 1, pick(1 << 20), now + 10);
        if (pick(4) != 0) log.CopyTime(copies, 1, now + 20, now + 40);
        log.Call(thread, TestLog::kMemcpy, now, now + 50, call, {0xd000, 0x5000, 4096, 1});
        break;
      case 2: {
        log.Range(thread, trace::RangeKind::kPush, fmt::format("step {}", i), now);
        log.Range(thread, trace::RangeKind::kPop, "", now + 80);
        break;
      }
      default: {
        const auto queue = static_cast<uint32_t>(1 + pick(3));
        const size_t kernels = 1 + pick(3);
        for (size_t k = 0; k < kernels; ++k) {
          const uint64_t packet = packets[queue]++;
          log.Dispatch(thread, call, queue, packet, static_cast<uint32_t>(1 + pick(5)), now + k);
          if (pick(8) != 0)
            log.Time(queue, packet, static_cast<uint16_t>(1 + queue % 2), now + 10 + k,
                     now + 500 + pick(9999));
        }
        log.Call(thread, TestLog::kLaunch, now, now + 60, call,
                 {0xf0, 4ull | 2ull << 32, 1, 64ull | 1ull << 32, 1, 0xa0, 512, 0xbeef});
      }
    }
  }
  log.Finish();
  log.SetClocks();
}

TEST(RoundTrip, FlightLogRpdParquetRpd) {
  std::mt19937 random(4);
  for (const size_t processes : {1, 3}) {
    const base::TempDir folder =
        base::TempDir::Create(testing::TempDir(), "rochound-roundtrip-").value();
    const std::string run = (folder.path() / "run").string();
    for (size_t i = 0; i < processes; ++i) WriteProcess(run, random, 300);

    const auto first = folder.path() / "first.rpd";
    ConversionOptions options;
    options.rpd = first;
    ASSERT_TRUE(ConvertRun(trace::RunLog::Open(run).value(), options).ok());
    const Tables expected = Dump(first);
    ASSERT_GT(expected.at("rocpd_api").size(), 250 * processes);
    ASSERT_GT(expected.at("rochound_dispatch").size(), 200 * processes);
    ASSERT_EQ(expected.at("rochound_process").size(), processes);
    ASSERT_FALSE(expected.at("rochound_lost").empty());

    const auto compare = [&](const std::filesystem::path& rpd) {
      const Tables tables = Dump(rpd);
      for (const auto& [name, rows] : expected) {
        ASSERT_EQ(tables.count(name), 1u) << name;
        EXPECT_EQ(tables.at(name), rows) << rpd << ": " << name;
      }
      EXPECT_EQ(Ask(rpd, "PRAGMA integrity_check"), std::vector<std::string>{"ok|"});
      EXPECT_EQ(Ask(rpd, "PRAGMA foreign_key_check"), std::vector<std::string>{});
    };

    const auto parquet = folder.path() / "trace.parquet";
    {
      auto trace = TraceDatabase::Open({first}, {.exports = true});
      ASSERT_TRUE(trace.ok()) << trace.error().message;
      ASSERT_TRUE(ExportParquet(trace.value(), parquet).ok());
    }
    {
      auto trace = TraceDatabase::Open({parquet});
      ASSERT_TRUE(trace.ok()) << trace.error().message;
      ASSERT_TRUE(ExportRpd(trace.value(), folder.path() / "second.rpd").ok());
    }
    compare(folder.path() / "second.rpd");

    // The log itself is a trace like any other.
    auto trace = TraceDatabase::Open({run});
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    ASSERT_TRUE(ExportRpd(trace.value(), folder.path() / "third.rpd").ok());
    compare(folder.path() / "third.rpd");

    for (const char* view :
         {"api", "op", "busy", "top", "kernel", "copy", "copyop", "stackframe", "napi", "nop"}) {
      EXPECT_EQ(Ask(first, std::string("SELECT * FROM ") + view),
                Ask(folder.path() / "second.rpd", std::string("SELECT * FROM ") + view))
          << view;
    }
  }
}

}  // namespace
}  // namespace rochound::store
