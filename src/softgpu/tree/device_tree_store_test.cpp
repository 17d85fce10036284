// SPDX-License-Identifier: MIT
#include "softgpu/tree/device_tree_store.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "base/files.h"

namespace rochound::softgpu {
namespace {

namespace fs = std::filesystem;

DeviceTree SmallTree() {
  DeviceTree tree;
  tree.files = {{"a/b/one", "1\n"}, {"two", "2\n"}, {"a/empty", ""}};
  tree.links = {{"c/link", "../a/b"}};
  tree.directories = {"d/nothing"};
  return tree;
}

class TreeStore : public testing::Test {
 protected:
  TreeStore() : dir_(base::TempDir::Create(testing::TempDir(), "rochound-store-").value()) {}
  fs::path Store() const { return dir_.path() / "store"; }

  // Names in the store, the lock aside.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(Store())) {
      if (entry.path().filename() != "lock") names.push_back(entry.path().filename());
    }
    return names;
  }

  base::TempDir dir_;
};

void ExpectIsSmallTree(const fs::path& root) {
  EXPECT_EQ(base::ReadFile(root / "a/b/one").value(), "1\n");
  EXPECT_EQ(base::ReadFile(root / "two").value(), "2\n");
  EXPECT_EQ(base::ReadFile(root / "a/empty").value(), "");
  EXPECT_EQ(base::ReadFile(root / "c/link/one").value(), "1\n");
  EXPECT_TRUE(fs::is_directory(root / "d/nothing"));
}

TEST_F(TreeStore, MakesAPrivateStoreAndTheTree) {
  const fs::path root = StoreDeviceTree(SmallTree(), Store()).value();
  EXPECT_EQ(root, Store() / SmallTree().Hash());
  ExpectIsSmallTree(root);
  struct stat status{};
  ASSERT_EQ(stat(Store().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
  EXPECT_EQ(Names().size(), 1u);
}

TEST_F(TreeStore, ATreeThatIsThereIsLeftAlone) {
  const fs::path root = StoreDeviceTree(SmallTree(), Store()).value();
  struct stat before{}, after{};
  ASSERT_EQ(stat(root.c_str(), &before), 0);
  EXPECT_EQ(StoreDeviceTree(SmallTree(), Store()).value(), root);
  ASSERT_EQ(stat(root.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(TreeStore, ADamagedTreeIsReplaced) {
  const fs::path root = StoreDeviceTree(SmallTree(), Store()).value();
  fs::remove(root / "a/b/one");
  EXPECT_EQ(StoreDeviceTree(SmallTree(), Store()).value(), root);
  ExpectIsSmallTree(root);
  ASSERT_TRUE(base::WriteFile(root / "two", "wrong").ok());
  EXPECT_TRUE(StoreDeviceTree(SmallTree(), Store()).ok());
  ExpectIsSmallTree(root);
  fs::remove(root / "c/link");
  fs::remove(root / "d/nothing");
  EXPECT_TRUE(StoreDeviceTree(SmallTree(), Store()).ok());
  ExpectIsSmallTree(root);
  EXPECT_EQ(Names().size(), 1u) << "the damaged ones are gone";
}

TEST_F(TreeStore, WhatAKilledProcessLeftIsRemoved) {
  ASSERT_TRUE(StoreDeviceTree(SmallTree(), Store()).ok());
  fs::create_directories(Store() / ".new-dead/a");
  DeviceTree other = SmallTree();
  other.files["three"] = "3";
  ASSERT_TRUE(StoreDeviceTree(other, Store()).ok());
  EXPECT_EQ(Names().size(), 2u);
}

TEST_F(TreeStore, AStoreThatOthersMayEnterIsRefused) {
  ASSERT_EQ(mkdir(Store().c_str(), 0700), 0);
  ASSERT_EQ(chmod(Store().c_str(), 0755), 0);
  const auto refused = StoreDeviceTree(SmallTree(), Store());
  ASSERT_FALSE(refused.ok());
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "set TMPDIR", refused.error().message);
}

TEST_F(TreeStore, ASymbolicLinkIsRefused) {
  fs::create_directory(dir_.path() / "elsewhere");
  fs::create_symlink(dir_.path() / "elsewhere", Store());
  EXPECT_FALSE(StoreDeviceTree(SmallTree(), Store()).ok());
  EXPECT_TRUE(fs::is_empty(dir_.path() / "elsewhere"));
}

TEST_F(TreeStore, SomebodyElsesStoreIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  ASSERT_EQ(mkdir(Store().c_str(), 0700), 0);
  ASSERT_EQ(chown(Store().c_str(), 12345, 12345), 0);
  EXPECT_FALSE(StoreDeviceTree(SmallTree(), Store()).ok());
}

TEST_F(TreeStore, AParentThatIsMissingIsAnError) {
  const auto failed = StoreDeviceTree(SmallTree(), dir_.path() / "no" / "store");
  ASSERT_FALSE(failed.ok());
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "No such file", failed.error().message);
}

TEST_F(TreeStore, SixteenProcessesAtOnceAllGetAWholeTree) {
  constexpr int kProcesses = 16;
  constexpr int kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    DeviceTree tree;
    for (int i = 0; i < 60; ++i)
      tree.files[fmt::format("d{}/f", i)] = fmt::format("{} {}\n", round, i);
    int start[2];
    ASSERT_EQ(pipe(start), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        close(start[1]);
        char nothing;
        (void)!read(start[0], &nothing, 1);  // ends when the parent closes: all begin together
        const auto root = StoreDeviceTree(tree, Store());
        int wrong = root.ok() ? 0 : 2;
        for (const auto& [path, content] : tree.files) {
          if (wrong == 0 && base::ReadFile(root.value() / path).value() != content) wrong = 1;
        }
        _exit(wrong);
      }
      children.push_back(child);
    }
    close(start[0]);
    close(start[1]);
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    EXPECT_EQ(Names().size(), static_cast<size_t>(round + 1)) << "one tree per round, no leftovers";
  }
}

TEST(DefaultTreeStore, TakesTheFirstPlaceThatWorks) {
  const std::string name = fmt::format("rochound-softgpu-{}", geteuid());
  const base::TempDir one = base::TempDir::Create(testing::TempDir(), "rochound-one-").value();
  const base::TempDir two = base::TempDir::Create(testing::TempDir(), "rochound-two-").value();
  setenv("XDG_RUNTIME_DIR", one.path().c_str(), 1);
  setenv("TMPDIR", two.path().c_str(), 1);
  EXPECT_EQ(DefaultTreeStore(), one.path() / name);
  setenv("XDG_RUNTIME_DIR", "/no/such/directory", 1);
  EXPECT_EQ(DefaultTreeStore(), two.path() / name);
  unsetenv("XDG_RUNTIME_DIR");
  setenv("TMPDIR", "relative", 1);
  EXPECT_EQ(DefaultTreeStore(), fs::path("/tmp") / name);
  unsetenv("TMPDIR");
  EXPECT_EQ(DefaultTreeStore(), fs::path("/tmp") / name);
}

TEST_F(TreeStore, ALinkIsMadeOnceAndLeadsToItsFolder) {
  const fs::path link = LinkInStore(dir_.path() / "a b", Store()).value();
  EXPECT_EQ(fs::read_symlink(link), dir_.path() / "a b");
  EXPECT_EQ(LinkInStore(dir_.path() / "a b", Store()).value(), link);
  EXPECT_NE(LinkInStore(dir_.path() / "c d", Store()).value(), link);
  EXPECT_EQ(Names().size(), 2u);
  fs::remove(link);
  fs::create_symlink("elsewhere", link);
  EXPECT_FALSE(LinkInStore(dir_.path() / "a b", Store()).ok());
}

}  // namespace
}  // namespace rochound::softgpu
