// SPDX-License-Identifier: MIT
#include "mcp/folders.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace rochound::mcp {
namespace {

namespace fs = std::filesystem;

class FoldersTest : public testing::Test {
 protected:
  FoldersTest()
      : own_(base::TempDir::Create(fs::temp_directory_path(), "own-").value()),
        more_(base::TempDir::Create(fs::temp_directory_path(), "more-").value()),
        others_(base::TempDir::Create(fs::temp_directory_path(), "others-").value()),
        folders_(Folders::Open({own_.path(), more_.path()}).value()) {
    for (const base::TempDir* folder : {&own_, &more_, &others_})
      EXPECT_TRUE(base::WriteFile(folder->path() / "file", "x").ok());
    fs::create_directory(own_.path() / "inner");
    fs::create_symlink(others_.path(), own_.path() / "out");
    fs::create_symlink(others_.path() / "file", own_.path() / "file_out");
    fs::create_symlink(more_.path(), own_.path() / "to_more");
    fs::create_symlink("loop", own_.path() / "loop");
  }

  std::string Why(const std::string& path) {
    const auto found = folders_.Existing(path);
    return found.ok() ? "" : found.error().message;
  }
  std::string WhyNotNew(const std::string& path) {
    const auto made = folders_.New(path);
    return made.ok() ? "" : made.error().message;
  }

  base::TempDir own_, more_, others_;
  Folders folders_;
};

constexpr const char* kOutside = "outside";

TEST_F(FoldersTest, PathsAreRelativeToTheFirst) {
  EXPECT_EQ(folders_.Existing("file").value(), fs::canonical(own_.path()) / "file");
  EXPECT_EQ(folders_.Existing("inner/../file").value(), fs::canonical(own_.path()) / "file");
  EXPECT_EQ(folders_.Existing(more_.path() / "file").value(), fs::canonical(more_.path()) / "file");
  EXPECT_EQ(folders_.Existing("to_more/file").value(), fs::canonical(more_.path()) / "file");
  EXPECT_EQ(folders_.Existing(".").value(), fs::canonical(own_.path()));
}

TEST_F(FoldersTest, NothingLeadsOut) {
  const std::string sibling = own_.path().string() + "-not";
  fs::create_directory(sibling);
  for (const std::string& path :
       {std::string("/etc/passwd"), std::string("/"), std::string(".."), std::string("../x"),
        std::string("out"), std::string("out/file"), std::string("file_out"),
        std::string("inner/../../x"), others_.path().string(), sibling,
        std::string("/nowhere/at/all"), std::string("../nowhere")}) {
    EXPECT_NE(Why(path).find(kOutside), std::string::npos) << path << ": " << Why(path);
    EXPECT_NE(WhyNotNew(path), "") << path;
  }
  EXPECT_NE(WhyNotNew("out/new").find(kOutside), std::string::npos);
  EXPECT_NE(Why("loop"), "");
  EXPECT_NE(WhyNotNew("loop"), "");
  fs::remove(sibling);
}

TEST_F(FoldersTest, NewOnesNeedTheirFolder) {
  EXPECT_EQ(folders_.New("inner/new").value(), fs::canonical(own_.path()) / "inner" / "new");
  EXPECT_EQ(folders_.New("new/").value(), fs::canonical(own_.path()) / "new");
  EXPECT_NE(WhyNotNew("no/new").find("is not there"), std::string::npos);
  EXPECT_NE(WhyNotNew(""), "");
  EXPECT_NE(Why("nothing").find("there is no"), std::string::npos);
}

TEST_F(FoldersTest, AFolderMustBeThere) {
  EXPECT_FALSE(Folders::Open({own_.path() / "no"}).ok());
  EXPECT_FALSE(Folders::Open({own_.path() / "file"}).ok());
  EXPECT_FALSE(Folders::Open({}).ok());
}

}  // namespace
}  // namespace rochound::mcp
