// SPDX-License-Identifier: MIT
#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <thread>

namespace rochound::base {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  Files() : dir_(TempDir::Create(testing::TempDir(), "rochound-files-").value()) {}
  fs::path Path(const char* name) const { return dir_.path() / name; }

  TempDir dir_;
};

TEST_F(Files, WhatIsWrittenIsRead) {
  std::string content("a\0b\n", 4);
  content += std::string(100000, 'x');
  ASSERT_TRUE(WriteFile(Path("f"), content).ok());
  EXPECT_EQ(ReadFile(Path("f")).value(), content);
  ASSERT_TRUE(WriteFile(Path("f"), "short").ok());
  EXPECT_EQ(ReadFile(Path("f")).value(), "short");
}

TEST_F(Files, ReadsFilesWhoseSizeIsUnknown) {
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "(", ReadFile("/proc/self/stat").value());
}

TEST_F(Files, ErrorsNameThePathAndTheReason) {
  const std::string message = ReadFile(Path("missing")).error().message;
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "missing", message);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "No such file", message);
  EXPECT_FALSE(ReadFile(dir_.path()).ok());
  EXPECT_FALSE(WriteFile(Path("no/such/folder"), "x").ok());
}

// Neither waited for nor read until memory ends.
TEST_F(Files, OnlyRegularFilesAreRead) {
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  ASSERT_TRUE(fs::create_directory(Path("folder")));
  for (const fs::path& path : {Path("fifo"), Path("folder"), fs::path("/dev/zero")}) {
    const auto read = ReadFile(path);
    ASSERT_FALSE(read.ok()) << path;
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "not a regular file", read.error().message);
    EXPECT_FALSE(OpenRegularFile(path).ok()) << path;
  }
  ASSERT_TRUE(WriteFile(Path("f"), "content").ok());
  fs::create_symlink(Path("f"), Path("link"));
  EXPECT_EQ(ReadFile(Path("link")).value(), "content");
}

TEST_F(Files, WhatIsTooLargeIsNotRead) {
  ASSERT_TRUE(WriteFile(Path("f"), "12345").ok());
  EXPECT_EQ(ReadFile(Path("f"), 5).value(), "12345");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "more than the 4 bytes",
                      ReadFile(Path("f"), 4).error().message);
  // A size that is not told.
  EXPECT_FALSE(ReadFile("/proc/self/maps", 64).ok());
  // Nothing but a size.
  fs::resize_file(Path("f"), uint64_t{1} << 42);
  EXPECT_FALSE(ReadFile(Path("f")).ok());
}

TEST_F(Files, AtomicWriteReplacesAndLeavesNothingBehind) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "one").ok());
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "two").ok());
  EXPECT_EQ(ReadFile(Path("f")).value(), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_.path()), fs::directory_iterator()), 1);
}

TEST_F(Files, AtomicWriteThatFailsLeavesTheOldContent) {
  ASSERT_TRUE(fs::create_directory(Path("folder")));
  EXPECT_FALSE(WriteFileAtomically(Path("folder"), "x").ok());
  EXPECT_TRUE(fs::is_directory(Path("folder")));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_.path()), fs::directory_iterator()), 1);
}

TEST_F(Files, AtomicWriteNeverShowsAPart) {
  const std::string one(300000, '1');
  const std::string two(300000, '2');
  ASSERT_TRUE(WriteFileAtomically(Path("f"), one).ok());
  std::thread writer([&] {
    for (int i = 0; i < 50; ++i)
      EXPECT_TRUE(WriteFileAtomically(Path("f"), i % 2 ? one : two).ok());
  });
  for (int i = 0; i < 50; ++i) {
    const std::string seen = ReadFile(Path("f")).value();
    EXPECT_TRUE(seen == one || seen == two);
  }
  writer.join();
}

TEST_F(Files, TempDirIsPrivateAndGoesAway) {
  fs::path path;
  {
    TempDir temporary = TempDir::Create(dir_.path(), "t-").value();
    path = temporary.path();
    struct stat status{};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700u);
    ASSERT_TRUE(WriteFile(path / "f", "x").ok());
    TempDir moved = std::move(temporary);
    EXPECT_EQ(moved.path(), path);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Files, AReleasedTempDirStays) {
  fs::path path = TempDir::Create(dir_.path(), "t-").value().Release();
  EXPECT_TRUE(fs::exists(path));
  EXPECT_FALSE(TempDir::Create(Path("missing"), "t-").ok());
}

TEST_F(Files, KnowsItsOwnExecutable) {
  const fs::path path = ExecutablePath().value();
  EXPECT_TRUE(path.is_absolute());
  EXPECT_TRUE(fs::exists(path));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "base_test", path.filename().string());
}

}  // namespace
}  // namespace rochound::base
