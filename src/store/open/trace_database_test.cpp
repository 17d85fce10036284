// SPDX-License-Identifier: MIT
#include "store/open/trace_database.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "store/export/export_parquet.h"
#include "store/export/export_rpd.h"
#include "store/open/trace_tables.h"
#include "store/rpd/database.h"
#include "store/rpd/rpd.h"

namespace rochound::store {
namespace {

namespace fs = std::filesystem;

class TraceDatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = base::TempDir::Create(testing::TempDir(), "trace-");
    ASSERT_TRUE(made.ok());
    folder_ = std::make_unique<base::TempDir>(std::move(made).value());
  }

  // A process with a launch and its kernel, which begins at `start` on its host's clock.
  struct Process {
    std::string host = "one";
    int64_t pid = 100, start = 1000;
    std::string offset = "5000000000";
    std::string kernel = "Add";
    int sessions = 1;
  };
  fs::path Write(const Process& process, const std::string& name) {
    const fs::path path = folder_->path() / name;
    auto rpd = RpdWriter::Create(path);
    EXPECT_TRUE(rpd.ok());
    RpdWriter& writer = *rpd.value();
    for (int i = 0; i < process.sessions; ++i) {
      writer.BeginSession();
      const int64_t api = writer.AddApi({.pid = process.pid + i,
                                         .tid = process.pid + i,
                                         .start = process.start,
                                         .end = process.start + 10,
                                         .name = writer.String("hipLaunchKernel"),
                                         .category = writer.String("launch"),
                                         .domain = writer.String("hip")},
                                        "stream=0x0");
      const int64_t op = writer.AddOp({.gpu = 0,
                                       .queue = 1,
                                       .sequence = 0,
                                       .start = process.start + 20,
                                       .end = process.start + 50,
                                       .description = writer.String(process.kernel),
                                       .type = writer.String("KernelExecution")});
      writer.AddApiOp(api, op);
      const int64_t name = writer.String(process.kernel);
      const int64_t kernel = writer.AddKernel({name, name, 0, 0, 0, 1});
      writer.AddKernelApi(api, {"0x0", 64, 1, 1, 64, 1, 1, 0, 0, name});
      writer.AddDispatch(op,
                         {api, kernel, 64, 1, 1, 64, 1, 1, 0, 0, 1, 1, process.start + 5, true});
      writer.AddProcess({process.pid + i, 1, "/bin/program", "program", process.host, process.start,
                         process.start + 50, 1, 1, 0, ""});
    }
    if (!process.offset.empty()) writer.AddMetadata("rochound_realtime_offset_ns", process.offset);
    const auto done = writer.Finish();
    EXPECT_TRUE(done.ok()) << done.error().message;
    return path;
  }

  TraceDatabase Open(const std::vector<fs::path>& paths, const OpenOptions& options = {}) {
    auto trace = TraceDatabase::Open(paths, options);
    EXPECT_TRUE(trace.ok()) << trace.error().message;
    return std::move(trace).value();
  }

  // The first column, all rows.
  static std::vector<std::string> Column(TraceDatabase& trace, const std::string& sql) {
    std::vector<std::string> values;
    auto rows = trace.connection().Query(sql);
    EXPECT_TRUE(rows.ok()) << rows.error().message;
    while (rows.ok()) {
      const auto next = rows.value().Next();
      EXPECT_TRUE(next.ok()) << next.error().message;
      if (!next.ok() || !next.value()) break;
      values.push_back(rows.value().kind(0) == duck::Kind::kText
                           ? std::string(rows.value().Text(0))
                           : std::to_string(rows.value().Int(0)));
    }
    return values;
  }

  std::unique_ptr<base::TempDir> folder_;
};

using Values = std::vector<std::string>;

TEST_F(TraceDatabaseTest, TablesAreThoseOfTheSchema) {
  const fs::path path = Write({}, "a.rpd");
  auto database = Database::Open(path, Database::Mode::kRead);
  ASSERT_TRUE(database.ok());
  std::set<std::string> seen;
  for (const TraceTable& table : TraceTables()) {
    auto columns = database.value().Prepare("SELECT name, type FROM pragma_table_info('" +
                                            std::string(table.name) + "') ORDER BY cid");
    ASSERT_TRUE(columns.ok());
    for (const TraceColumn& column : table.columns) {
      const auto row = columns.value().Step();
      ASSERT_TRUE(row.ok() && row.value()) << table.name << " has no " << column.name;
      EXPECT_EQ(columns.value().Text(0), column.name) << table.name;
      const std::string type = columns.value().Text(1), ours = column.type;
      const bool text = type == "TEXT" || type.rfind("varchar", 0) == 0;
      EXPECT_EQ(ours, text                               ? "VARCHAR"
                      : type == "real" || type == "REAL" ? "DOUBLE"
                                                         : "BIGINT")
          << table.name << "." << column.name << " is " << type;
    }
    EXPECT_FALSE(columns.value().Step().value()) << table.name << " has more columns";
    seen.insert(table.name);
  }
  const auto tables = database.value().Number(
      "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  EXPECT_EQ(static_cast<size_t>(tables.value()), seen.size());
}

TEST_F(TraceDatabaseTest, SourcesOfDifferentHostsAreBroughtToOneClock) {
  // What the first host calls 1000 was 5000001000 in the world; the second's clock is 700 behind.
  TraceDatabase trace = Open(
      {Write({}, "a.rpd"),
       Write({.host = "two", .start = 300, .offset = "5000000700", .kernel = "Mul"}, "b.rpd")});
  EXPECT_EQ(Column(trace, "SELECT start FROM rocpd_api ORDER BY id"), (Values{"1000", "1000"}));
  EXPECT_EQ(Column(trace, "SELECT submit FROM rochound_dispatch ORDER BY op_id"),
            (Values{"1005", "1005"}));
  EXPECT_EQ(Column(trace, "SELECT kernelName FROM kernel ORDER BY id"), (Values{"Add", "Mul"}));
  EXPECT_EQ(Column(trace, "SELECT node FROM napi ORDER BY id"), (Values{"0", "1"}));
  EXPECT_EQ(Column(trace, "SELECT gpuId FROM op ORDER BY id"), (Values{"0", "1000"}));
  EXPECT_EQ(Column(trace, "SELECT session FROM rochound_process ORDER BY 1"), (Values{"0", "1"}));
  EXPECT_EQ(Column(trace, "SELECT what FROM rochound_lost"), Values{});
}

TEST_F(TraceDatabaseTest, OneHostHasOneClock) {
  // The two processes measured the clocks' distance a microsecond apart.
  TraceDatabase trace =
      Open({Write({}, "a.rpd"), Write({.start = 2000, .offset = "5000001000"}, "b.rpd")});
  EXPECT_EQ(Column(trace, "SELECT start FROM rocpd_api ORDER BY id"), (Values{"1000", "2000"}));
}

TEST_F(TraceDatabaseTest, UnknownClocksAreToldOf) {
  TraceDatabase trace = Open({Write({}, "a.rpd"), Write({.offset = ""}, "b.rpd")});
  EXPECT_EQ(Column(trace, "SELECT what FROM rochound_lost"), Values{"aligned clock"});
}

// More than SQLite can attach at a time; tests/store/roundtrip.py has sixty-four.
TEST_F(TraceDatabaseTest, TwelveRanksBecomeOneFile) {
  std::vector<fs::path> ranks;
  for (int rank = 0; rank < 12; ++rank)
    ranks.push_back(
        Write({.host = "host" + std::to_string(rank), .start = 1000 + rank, .sessions = 2},
              "rank" + std::to_string(rank) + ".rpd"));
  auto opened = TraceDatabase::Open(ranks, {.views = false});
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  TraceDatabase& trace = opened.value();
  const fs::path merged = folder_->path() / "merged.rpd";
  const auto done = ExportRpd(trace, merged);
  ASSERT_TRUE(done.ok()) << done.error().message;
  auto database = Database::Open(merged, Database::Mode::kRead);
  ASSERT_TRUE(database.ok());
  const auto number = [&](const char* sql) { return database.value().Number(sql).value(); };
  EXPECT_EQ(number("SELECT count(*) FROM api"), 24);
  EXPECT_EQ(number("SELECT count(*) FROM kernel"), 24);
  EXPECT_EQ(number("SELECT count(DISTINCT node) FROM napi"), 12);
  EXPECT_EQ(number("SELECT count(DISTINCT id >> 32) FROM rocpd_api"), 24);
  EXPECT_EQ(number("SELECT count(*) FROM rochound_process"), 24);
  // A merged trace is a source like any other.
  TraceDatabase again = Open({merged, ranks[0]});
  EXPECT_EQ(Column(again, "SELECT count(*) FROM kernel"), Values{"26"});
  EXPECT_EQ(Column(again, "SELECT max(node) FROM napi"), Values{"12"});
  EXPECT_EQ(Column(again, "SELECT count(DISTINCT id) FROM rocpd_api"), Values{"26"});
}

TEST_F(TraceDatabaseTest, ParquetOfSeveralProcessesIsSplitByProcess) {
  TraceDatabase trace = Open({Write({.sessions = 3}, "a.rpd")}, {.exports = true});
  const fs::path parquet = folder_->path() / "a.parquet";
  const auto done = ExportParquet(trace, parquet);
  ASSERT_TRUE(done.ok()) << done.error().message;
  for (const char* session : {"session=0", "session=1", "session=2"})
    EXPECT_TRUE(fs::is_directory(parquet / "rocpd_api" / session)) << session;
  TraceDatabase back = Open({parquet});
  EXPECT_EQ(Column(back, "SELECT id FROM rocpd_op ORDER BY id"),
            Column(trace, "SELECT id FROM rocpd_op ORDER BY id"));
  EXPECT_FALSE(ExportParquet(trace, parquet).ok()) << "a folder that is there was replaced";
}

TEST_F(TraceDatabaseTest, ParquetIsReadFromRegularFilesOnly) {
  TraceDatabase trace = Open({Write({}, "a.rpd")}, {.exports = true});
  const fs::path parquet = folder_->path() / "a.parquet";
  ASSERT_TRUE(ExportParquet(trace, parquet).ok());
  const fs::path table = parquet / "rocpd_api";
  const auto refused = [&](const char* name) {
    alarm(20);  // nobody writes into a FIFO
    const auto opened = TraceDatabase::Open({parquet});
    alarm(0);
    ASSERT_FALSE(opened.ok());
    EXPECT_NE(opened.error().message.find(std::string(name) + "' is not a regular file"),
              std::string::npos)
        << opened.error().message;
    fs::remove(table / name);
  };
  ASSERT_EQ(mkfifo((table / "b.parquet").c_str(), 0600), 0);
  refused("b.parquet");
  fs::create_symlink("/dev/zero", table / "c.parquet");
  refused("c.parquet");
  fs::create_symlink("absent", table / "d.parquet");
  refused("d.parquet");
  EXPECT_TRUE(TraceDatabase::Open({parquet}).ok());
}

TEST_F(TraceDatabaseTest, ParquetFilesAreNoPatterns) {
  TraceDatabase trace = Open({Write({}, "a.rpd")}, {.exports = true});
  const fs::path parquet = folder_->path() / "run1";
  ASSERT_TRUE(ExportParquet(trace, parquet).ok());
  const fs::path table = parquet / "rocpd_api";
  fs::path file;
  for (const auto& entry : fs::recursive_directory_iterator(table))
    if (entry.is_regular_file()) file = entry.path();
  // As patterns, the first two fit all three.
  fs::copy_file(file, table / "?.parquet");
  fs::copy_file(file, table / "*.parquet");
  fs::rename(file, table / "[.parquet");
  // As a pattern, this folder is the other one.
  const fs::path copy = folder_->path() / "run[1]";
  fs::copy(parquet, copy, fs::copy_options::recursive);
  for (const fs::path& path : {parquet, copy}) {
    TraceDatabase back = Open({path});
    EXPECT_EQ(Column(back, "SELECT count(*) FROM rocpd_api"), Values{"3"}) << path;
  }
}

TEST_F(TraceDatabaseTest, LoadedTracesNeedTheirFileNoMore) {
  const fs::path path = Write({}, "a.rpd");
  {
    // Views of the file's own that DuckDB cannot read must not be in the way.
    auto database = Database::Open(path, Database::Mode::kWrite);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database.value().Run("CREATE VIEW strange AS SELECT * FROM absent").ok());
  }
  auto trace = TraceDatabase::Open({path}, {.load = true});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  fs::resize_file(path, 0);
  EXPECT_EQ(Column(trace.value(), "SELECT kernelName FROM kernel"), Values{"Add"});
}

TEST_F(TraceDatabaseTest, WhatIsNoTraceIsRefusedInWords) {
  const fs::path text = folder_->path() / "notes.txt";
  ASSERT_TRUE(base::WriteFile(text, "hello").ok());
  const fs::path cut = folder_->path() / "cut.rpd";
  const auto whole = base::ReadFile(Write({}, "a.rpd"));
  ASSERT_TRUE(base::WriteFile(cut, whole.value().substr(0, 20000)).ok());
  for (const fs::path& path : {text, cut, folder_->path(), folder_->path() / "absent.rpd"}) {
    const auto trace = TraceDatabase::Open({path});
    ASSERT_FALSE(trace.ok()) << path;
    EXPECT_NE(trace.error().message.find(path.filename().string()), std::string::npos)
        << trace.error().message;
  }
}

TEST_F(TraceDatabaseTest, NamesCannotEscapeTheirQuotes) {
  const std::string name = "it's \"quoted\"; DROP TABLE rocpd_op; --.rpd";
  TraceDatabase trace =
      Open({Write({.kernel = "<script>'\"</script>"}, name), Write({}, "b'.rpd")});
  EXPECT_EQ(Column(trace, "SELECT kernelName FROM kernel ORDER BY id"),
            (Values{"<script>'\"</script>", "Add"}));
}

// Whatever SQL a stranger's file holds, and whatever it is asked through.
TEST_F(TraceDatabaseTest, AnOpenTraceReachesNoOtherFile) {
  const fs::path secret = folder_->path() / "secret.csv";
  ASSERT_TRUE(base::WriteFile(secret, "a\nsecret\n").ok());
  const fs::path hostile = Write({}, "hostile.rpd");
  {
    auto database = Database::Open(hostile, Database::Mode::kWrite);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(
        database.value()
            .Run("CREATE VIEW stolen AS SELECT content FROM read_text('" + secret.string() + "')")
            .ok());
  }
  const fs::path parquet = folder_->path() / "a.parquet";
  {
    TraceDatabase trace = Open({hostile}, {.exports = true});
    ASSERT_TRUE(ExportParquet(trace, parquet).ok());
  }
  for (const fs::path& path : {hostile, parquet}) {
    TraceDatabase trace = Open({path});
    duck::Connection& connection = trace.connection();
    EXPECT_FALSE(connection.Text("SELECT content FROM main_file.stolen").ok());
    for (const std::string& sql :
         {"SELECT content FROM read_text('" + secret.string() + "')",
          "SELECT a FROM read_csv('" + secret.string() + "')",
          "SELECT a FROM '" + secret.string() + "'",
          "COPY (SELECT 1) TO '" + (folder_->path() / "written").string() + "'",
          "ATTACH '" + (folder_->path() / "made.db").string() + "'", std::string("LOAD httpfs"),
          std::string("SET enable_external_access = true"), std::string("SET threads = 1"),
          std::string("SET lock_configuration = false")}) {
      EXPECT_FALSE(connection.Run(sql).ok()) << sql;
    }
    EXPECT_FALSE(fs::exists(folder_->path() / "written"));
    EXPECT_FALSE(fs::exists(folder_->path() / "made.db"));
    // The trace itself may be read, not written; nor what SQLite would read beside it.
    for (const std::string& file :
         {path.string(), path.string() + "-wal", path.string() + "-journal"}) {
      const std::string copy = "COPY (SELECT 1) TO '" + file + "' (USE_TMP_FILE false)";
      for (const std::string& sql : {copy, "EXPLAIN ANALYZE " + copy, "EXPLAIN (ANALYZE) " + copy,
                                     "PREPARE p AS " + copy, std::string("EXECUTE p")}) {
        EXPECT_FALSE(connection.Run(sql).ok()) << sql;
        EXPECT_FALSE(connection.Query(sql).ok()) << sql;
      }
    }
    EXPECT_FALSE(fs::exists(path.string() + "-wal"));
    EXPECT_TRUE(connection.Query("EXPLAIN ANALYZE SELECT * FROM rocpd_copyapi").ok());
    // What it is there for goes on, here and on other connections.
    EXPECT_EQ(Column(trace, "SELECT kernelName FROM kernel"), Values{"Add"});
    auto sibling = connection.Sibling();
    ASSERT_TRUE(sibling.ok()) << sibling.error().message;
    EXPECT_EQ(sibling.value().Number("SELECT count(*) FROM rocpd_op").value(), 1);
  }
}

// The folder that an export writes is the only one.
TEST_F(TraceDatabaseTest, AnExportConfinesDuckDbToItsFolder) {
  TraceDatabase trace = Open({Write({}, "a.rpd")}, {.exports = true});
  ASSERT_TRUE(ExportParquet(trace, folder_->path() / "a.parquet").ok());
  EXPECT_FALSE(trace.connection()
                   .Run("COPY (SELECT 1) TO '" + (folder_->path() / "written").string() + "'")
                   .ok());
  EXPECT_FALSE(ExportParquet(trace, folder_->path() / "b.parquet").ok());
  EXPECT_FALSE(fs::exists(folder_->path() / "b.parquet"));
}

TEST(DuckTest, ReadsEveryKindOfColumn) {
  auto connection = duck::Connection::Open();
  ASSERT_TRUE(connection.ok()) << connection.error().message;
  auto rows = connection.value().Query(
      "SELECT true, -7::TINYINT, 300::USMALLINT, 170141183460469231731687303715884105727::HUGEINT, "
      "-1::HUGEINT, 1.5::FLOAT, 2.25::DECIMAL(9, 2), 'a text longer than twelve bytes', "
      "NULL::BIGINT, "
      "[1, 2], 18446744073709551615::UBIGINT");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_TRUE(rows.value().Next().value());
  const duck::Rows& row = rows.value();
  EXPECT_EQ(row.Int(0), 1);
  EXPECT_EQ(row.Int(1), -7);
  EXPECT_EQ(row.Int(2), 300);
  EXPECT_EQ(row.Int(3), INT64_MAX);
  EXPECT_EQ(row.Int(4), -1);
  EXPECT_DOUBLE_EQ(row.Real(5), 1.5);
  EXPECT_DOUBLE_EQ(row.Real(6), 2.25);
  EXPECT_EQ(row.Text(7), "a text longer than twelve bytes");
  EXPECT_TRUE(row.IsNull(8));
  EXPECT_EQ(row.Int(8), 0);
  EXPECT_EQ(row.Text(9), "[1, 2]");
  EXPECT_EQ(row.Int(10), INT64_MAX);
  EXPECT_FALSE(rows.value().Next().value());
  EXPECT_FALSE(rows.value().Next().value());
}

TEST(DuckTest, ErrorsInTheMiddleOfAnAnswerAreSeen) {
  auto connection = duck::Connection::Open();
  ASSERT_TRUE(connection.ok());
  auto rows =
      connection.value().Query("SELECT if(i = 5000, error('broken'), i) FROM range(10000) t(i)");
  bool failed = !rows.ok();
  for (int64_t i = 0; !failed && i < 10001; ++i) failed = !rows.value().Next().ok();
  EXPECT_TRUE(failed);
}

TEST(DuckTest, AppendedRowsAndSiblingsShareADatabase) {
  auto connection = duck::Connection::Open();
  ASSERT_TRUE(connection.ok());
  ASSERT_TRUE(connection.value().Run("CREATE TABLE t (a BIGINT, b VARCHAR, c DOUBLE)").ok());
  {
    auto appender = connection.value().Append("main", "t");
    ASSERT_TRUE(appender.ok());
    for (int64_t i = 0; i < 5000; ++i) appender.value().Int(i).Text("x'y").Null().EndRow();
    ASSERT_TRUE(appender.value().Finish().ok());
  }
  auto sibling = connection.value().Sibling();
  ASSERT_TRUE(sibling.ok());
  // One reads while the other works.
  auto rows = connection.value().Query("SELECT a FROM t");
  ASSERT_TRUE(rows.ok());
  ASSERT_TRUE(rows.value().Next().value());
  EXPECT_EQ(sibling.value().Number("SELECT count(*) FROM t WHERE b = 'x''y' AND c IS NULL").value(),
            5000);
  EXPECT_FALSE(connection.value().Append("main", "absent").ok());
}

TEST(DuckTest, ProgressCanStopAStatement) {
  auto connection = duck::Connection::Open();
  ASSERT_TRUE(connection.ok());
  connection.value().set_progress([](double) { return false; });
  const auto done = connection.value().Run(
      "CREATE TABLE t AS SELECT count(*) FROM range(100000) a(i), range(1000000) b(j) WHERE "
      "hash(i, j) = 7");
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().message, "interrupted");
}

}  // namespace
}  // namespace rochound::store
