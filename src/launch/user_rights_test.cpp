// SPDX-License-Identifier: MIT
#include "launch/user_rights.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"

namespace rochound::launch {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;

class UserRights : public testing::Test {
 protected:
  UserRights() : folder_(base::TempDir::Create("/tmp", "rochound-rights-").value()) {
    chmod(folder_.path().c_str(), 0755);
  }
  fs::path File(const char* name, mode_t mode) {
    const fs::path path = folder_.path() / name;
    EXPECT_TRUE(base::WriteFile(path, name).ok());
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  base::TempDir folder_;
};

TEST_F(UserRights, RootReadsWhatTheUserMayReadAndNothingElse) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has the rights of others";
  const fs::path mine = File("mine", 0600), groups = File("groups", 0640), all = File("all", 0644);
  const fs::path theirs = File("theirs", 0600);
  ASSERT_EQ(chown(theirs.c_str(), kNobody, kNobody), 0);
  const auto done = WithRightsOf(kNobody, [&] {
    EXPECT_FALSE(base::ReadFile(mine).ok());
    EXPECT_FALSE(base::ReadFile(groups).ok()) << "root's group was kept";
    EXPECT_TRUE(base::ReadFile(all).ok());
    EXPECT_TRUE(base::ReadFile(theirs).ok());
    EXPECT_FALSE(base::WriteFile(all, "changed").ok());
  });
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(base::ReadFile(mine).value(), "mine") << "the calling thread lost its rights";
  EXPECT_TRUE(base::ReadFile(groups).ok());
}

TEST_F(UserRights, OwnRightsNeedNoThread) {
  const auto caller = gettid();
  EXPECT_FALSE(HasOtherRights(geteuid()));
  EXPECT_TRUE(WithRightsOf(geteuid(), [&] { EXPECT_EQ(gettid(), caller); }).ok());
}

}  // namespace
}  // namespace rochound::launch
