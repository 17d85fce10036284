// SPDX-License-Identifier: MIT
#include "base/control_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "base/files.h"

namespace rochound::base {
namespace {

using Places = std::vector<std::string>;

TEST(ControlDirectories, TheOneThatIsNamedAndNoOther) {
  EXPECT_EQ(ControlDirectories({"/x", "/run/user/7"}, 7), Places{"/x"});
  EXPECT_EQ(ControlDirectories({"", "/run/user/7"}, 7), Places{});
}

TEST(ControlDirectories, RuntimeDirectoryThenTmp) {
  EXPECT_EQ(ControlDirectories({nullptr, "/run/user/7"}, 7),
            (Places{"/run/user/7/rochound", "/tmp/rochound-7"}));
  EXPECT_EQ(ControlDirectories({nullptr, nullptr}, 7), Places{"/tmp/rochound-7"});
  EXPECT_EQ(ControlDirectories({nullptr, ""}, 7), Places{"/tmp/rochound-7"});
  EXPECT_EQ(ControlDirectories({nullptr, "relative"}, 7), Places{"/tmp/rochound-7"});
}

TEST(ControlSocketName, NamesAProcessAndNothingElse) {
  EXPECT_EQ(ControlSocketName(4711), "4711.sock");
  EXPECT_EQ(ControlSocketProcess("4711.sock"), 4711);
  for (const char* other : {"", ".sock", "4711", "4711.sock~", "x4711.sock", "047.sock", "-1.sock",
                            "99999999999.sock", "4294967297.sock", "47 11.sock"})
    EXPECT_EQ(ControlSocketProcess(other), 0) << other;
}

class PrivateDirectory : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::Create("/tmp", "control");
    ASSERT_TRUE(made.ok());
    parent_ = std::make_unique<TempDir>(std::move(made).value());
    path_ = parent_->path() / "sockets";
  }

  std::string Refusal(uid_t user = geteuid()) const {
    const auto opened = MakePrivateDirectory(path_, user);
    if (opened.ok()) close(opened.value());
    return opened.ok() ? "" : opened.error().message;
  }

  std::unique_ptr<TempDir> parent_;
  std::filesystem::path path_;
};

TEST_F(PrivateDirectory, IsMadeForTheOwnerOnlyAndFoundAgain) {
  EXPECT_EQ(Refusal(), "");
  struct stat made{};
  ASSERT_EQ(stat(path_.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 07777, 0700u);
  EXPECT_EQ(Refusal(), "");
}

TEST_F(PrivateDirectory, RefusesALink) {
  const auto target = parent_->path() / "target";
  ASSERT_EQ(mkdir(target.c_str(), 0700), 0);
  ASSERT_EQ(symlink(target.c_str(), path_.c_str()), 0);
  EXPECT_NE(Refusal().find("symbolic link"), std::string::npos) << Refusal();
}

TEST_F(PrivateDirectory, RefusesOneThatOthersMayEnter) {
  for (const mode_t mode : {0701u, 0710u, 0770u, 0777u, 01777u}) {
    std::filesystem::remove(path_);
    ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    EXPECT_NE(Refusal().find("open to other users"), std::string::npos) << mode << Refusal();
  }
}

TEST_F(PrivateDirectory, RefusesSomebodyElses) {
  ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
  EXPECT_NE(Refusal(geteuid() + 1).find("belongs to user"), std::string::npos);
}

TEST_F(PrivateDirectory, RefusesWhatIsNoDirectoryOrNoAbsolutePath) {
  ASSERT_TRUE(WriteFile(path_, "x").ok());
  EXPECT_NE(Refusal(), "");
  EXPECT_FALSE(OpenPrivateDirectory("relative", geteuid()).ok());
  EXPECT_FALSE(OpenPrivateDirectory("", geteuid()).ok());
  EXPECT_NE(OpenPrivateDirectory(parent_->path() / "missing", geteuid()).error().message, "");
}

TEST_F(PrivateDirectory, IsReachedThroughItsDescriptorEvenAfterASwap) {
  const auto opened = MakePrivateDirectory(path_, geteuid());
  ASSERT_TRUE(opened.ok());
  ASSERT_EQ(rename(path_.c_str(), (parent_->path() / "moved").c_str()), 0);
  ASSERT_EQ(mkdir(path_.c_str(), 0777), 0);
  ASSERT_TRUE(WriteFile(PathThrough(opened.value(), "1.sock"), "").ok());
  EXPECT_TRUE(std::filesystem::exists(parent_->path() / "moved" / "1.sock"));
  EXPECT_FALSE(std::filesystem::exists(path_ / "1.sock"));
  close(opened.value());
}

}  // namespace
}  // namespace rochound::base
