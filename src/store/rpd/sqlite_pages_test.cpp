// SPDX-License-Identifier: MIT
//
// What the page writer writes is read back by libsqlite3, and found whole by its integrity check.

#include "store/rpd/sqlite_pages.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/files.h"
#include "store/rpd/database.h"

namespace rochound::store {
namespace {

class SqlitePages : public testing::Test {
 protected:
  SqlitePages() : dir_(base::TempDir::Create(testing::TempDir(), "rochound-pages-").value()) {}

  std::filesystem::path path() const { return dir_.path() / "test.db"; }

  // Makes the file anew, with table t and the index of its key, and opens it for pages.
  void Make(int page_size, uint64_t lock_byte = 1ull << 30) {
    std::filesystem::remove(path());
    {
      Database database = Database::Open(path(), Database::Mode::kCreate).value();
      ASSERT_TRUE(database
                      .Run(fmt::format("PRAGMA page_size = {}; PRAGMA auto_vacuum = 0;"
                                       "CREATE TABLE t(k bigint NOT NULL PRIMARY KEY, s, n);",
                                       page_size))
                      .ok());
      table_root_ =
          database.Number("SELECT rootpage FROM sqlite_master WHERE type = 'table'").value();
      index_root_ =
          database.Number("SELECT rootpage FROM sqlite_master WHERE type = 'index'").value();
    }
    file_ = PageFile::Open(path(), lock_byte).value();
    table_ = std::make_unique<TreeBuilder>(file_.get(), TreeBuilder::Kind::kTable,
                                           static_cast<uint32_t>(table_root_));
    index_ = std::make_unique<TreeBuilder>(file_.get(), TreeBuilder::Kind::kIndex,
                                           static_cast<uint32_t>(index_root_));
  }

  void Add(int64_t rowid, int64_t key, const std::string& text, int64_t number) {
    record_.Clear();
    record_.Int(key);
    record_.Text(text);
    number == 7 ? record_.Null() : record_.Int(number);
    table_->AddRow(rowid, record_);
    record_.Clear();
    record_.Ints(key, rowid);
    index_->AddEntry(record_);
  }

  base::Result<void> Finish() {
    table_->Finish();
    index_->Finish();
    auto result = file_->Finish();
    file_.reset();
    return result;
  }

  static std::string Integrity(Database& database) {
    Statement check = database.Prepare("PRAGMA integrity_check").value();
    std::string found;
    while (check.Step().value()) found += check.Text(0) + "\n";
    return found;
  }

  base::TempDir dir_;
  int64_t table_root_ = 0, index_root_ = 0;
  std::unique_ptr<PageFile> file_;
  std::unique_ptr<TreeBuilder> table_, index_;
  Record record_;
};

// Numbers around every size of a stored integer.
int64_t Interesting(int64_t i) {
  if (i % 3 == 0) return i;
  const int shift = static_cast<int>(i % 64);
  const auto edge = static_cast<int64_t>(1ull << shift);
  switch (i % 5) {
    case 0:
      return edge;
    case 1:
      return static_cast<int64_t>((1ull << shift) - 1);
    case 2:
      return -static_cast<int64_t>(1ull << (shift % 63));
    case 3:
      return ~edge;
    default:
      return edge + i;
  }
}

std::string SomeText(int64_t i) {
  return std::string(static_cast<size_t>(i * i % 97), 'a' + i % 26);
}

TEST_F(SqlitePages, ReadsBackWhatWasWritten) {
  Make(512);  // so that the trees become high
  constexpr int64_t kRows = 60000;
  for (int64_t i = 1; i <= kRows; ++i) Add(i, 10 * i, SomeText(i), Interesting(i));
  ASSERT_TRUE(Finish().ok());

  Database database = Database::Open(path(), Database::Mode::kWrite).value();
  EXPECT_EQ(Integrity(database), "ok\n");
  Statement rows =
      database.Prepare("SELECT rowid, k, s, n, n IS NULL FROM t ORDER BY rowid").value();
  int64_t i = 0;
  while (rows.Step().value()) {
    ++i;
    ASSERT_EQ(rows.Int(0), i);
    ASSERT_EQ(rows.Int(1), 10 * i);
    ASSERT_EQ(rows.Text(2), SomeText(i));
    ASSERT_EQ(rows.Int(4), Interesting(i) == 7);
    if (Interesting(i) != 7) {
      ASSERT_EQ(rows.Int(3), Interesting(i)) << i;
    }
  }
  EXPECT_EQ(i, kRows);
  // Through the index, and by SQLite's own hand afterwards.
  EXPECT_EQ(database.Number("SELECT rowid FROM t WHERE k = 123450").value(), 12345);
  EXPECT_EQ(database.Number("SELECT count(*) FROM t INDEXED BY sqlite_autoindex_t_1 WHERE k > 5000")
                .value(),
            kRows - 500);
  ASSERT_TRUE(
      database.Run("INSERT INTO t VALUES (5, 'late', 5); DELETE FROM t WHERE k % 30 = 0;").ok());
  EXPECT_EQ(Integrity(database), "ok\n");
}

TEST_F(SqlitePages, IsWholeAtEveryCount) {
  // Around the counts where the trees get their second and their third level.
  std::vector<int64_t> counts;
  for (int64_t count = 0; count <= 100; ++count) counts.push_back(count);
  for (int64_t count = 1400; count <= 2600; count += 17) counts.push_back(count);
  for (const int64_t count : counts) {
    Make(512);
    for (int64_t i = 1; i <= count; ++i) Add(i, i, "row", i << 20);
    ASSERT_TRUE(Finish().ok());
    Database database = Database::Open(path(), Database::Mode::kRead).value();
    ASSERT_EQ(Integrity(database), "ok\n") << count;
    ASSERT_EQ(database.Number("SELECT count(*) FROM t").value(), count);
  }
}

TEST_F(SqlitePages, TakesRowidsWithSessions) {
  Make(16384);
  int64_t expected = 0;
  for (int64_t session = 0; session < 3; ++session) {
    for (int64_t i = 1; i < 5000; ++i, ++expected)
      Add((session << 32) + i, (session << 32) + i, "x", i);
  }
  Add(INT64_MAX, INT64_MAX, "last", 1);
  ASSERT_TRUE(Finish().ok());
  Database database = Database::Open(path(), Database::Mode::kRead).value();
  EXPECT_EQ(Integrity(database), "ok\n");
  EXPECT_EQ(database.Number("SELECT count(*) FROM t").value(), expected + 1);
  EXPECT_EQ(database.Number("SELECT n FROM t WHERE k = (2 << 32) + 77").value(), 77);
}

// SQLite never looks at the page where its locks are; a gigabyte is brought near for the test.
TEST_F(SqlitePages, LeavesTheLockPageOut) {
  constexpr int kLockByte = 1 << 16;
  const int before = sqlite3_test_control(SQLITE_TESTCTRL_PENDING_BYTE, 0);
  sqlite3_test_control(SQLITE_TESTCTRL_PENDING_BYTE, kLockByte);
  Make(512, kLockByte);
  for (int64_t i = 1; i <= 20000; ++i) Add(i, i, "row", i);
  EXPECT_TRUE(Finish().ok());
  {
    Database database = Database::Open(path(), Database::Mode::kRead).value();
    EXPECT_EQ(Integrity(database), "ok\n");
    EXPECT_EQ(database.Number("SELECT sum(k) FROM t").value(), 20000 * 20001 / 2);
  }
  sqlite3_test_control(SQLITE_TESTCTRL_PENDING_BYTE, before);
}

TEST_F(SqlitePages, ReportsAFailedWrite) {
  Make(4096);
  struct rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small{64 * 1024, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  for (int64_t i = 1; i <= 20000; ++i) Add(i, i, SomeText(i), i);
  const auto result = Finish();
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find(path().string()), std::string::npos);
}

TEST_F(SqlitePages, RefusesARowThatFitsNoPage) {
  Make(4096);
  Add(1, 1, std::string(4000, 'x'), 1);
  Add(2, 2, std::string(4100, 'x'), 2);
  EXPECT_FALSE(Finish().ok());
}

TEST_F(SqlitePages, RefusesAFileOfAnotherForm) {
  {
    Database database = Database::Open(path(), Database::Mode::kCreate).value();
    ASSERT_TRUE(database.Run("PRAGMA auto_vacuum = 1; CREATE TABLE t(x);").ok());
  }
  EXPECT_FALSE(PageFile::Open(path()).ok());
  EXPECT_FALSE(PageFile::Open(dir_.path() / "nothing").ok());
}

}  // namespace
}  // namespace rochound::store
