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
