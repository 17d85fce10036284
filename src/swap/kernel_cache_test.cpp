// SPDX-License-Identifier: MIT
#include "swap/kernel_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "codeobj/cache_list.h"

namespace rochound::swap {
namespace {

namespace fs = std::filesystem;

class KernelCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_.emplace(base::TempDir::Create(fs::temp_directory_path(), "kernel-cache-").value());
    cache_ = folder_->path() / "cache";
    Make(cache_);
  }

  static void Make(const fs::path& directory) {
    fs::create_directories(directory);
    chmod(directory.c_str(), 0700);
  }

  // Puts a file of the compiler's into the cache.
  void Put(const std::string& name, const fs::path& place, mode_t mode = 0600) {
    const fs::path to = cache_ / place;
    fs::copy_file(fs::path(ROCHOUND_TEST_FILES) / name, to, fs::copy_options::overwrite_existing);
    chmod(to.c_str(), mode);
  }

  void Open(const std::string& pattern = "", bool shared = false) {
    auto opened = KernelCache::Open({cache_, pattern, shared}, folder_->path() / "list");
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    open_.emplace(std::move(opened).value());
  }

  std::vector<codeobj::CacheEntry> List() {
    std::vector<codeobj::CacheEntry> entries;
    std::istringstream lines(base::ReadFile(open_->list()).value());
    for (std::string line; std::getline(lines, line);) {
      const auto entry = codeobj::ReadCacheLine(line);
      EXPECT_TRUE(entry.has_value()) << line;
      if (entry) entries.push_back(*entry);
    }
    return entries;
  }

  std::optional<base::TempDir> folder_;
  fs::path cache_;
  std::optional<KernelCache> open_;
};

TEST_F(KernelCacheTest, ListsKernelsOfCodeObjectsAndBundles) {
  Make(cache_ / "deep");
  Put("swap.plain.co", "deep/a.hsaco");
  Put("compressed.hsaco", "b.hsaco");
  base::WriteFile(cache_ / "notes.txt", "no code").ok();
  Open();
  const auto list = List();
  ASSERT_EQ(list.size(), 3u);  // the bundle has one kernel for two targets
  EXPECT_EQ(open_->kernels(), 3u);
  EXPECT_EQ(list[0].symbol, "second_file");
  EXPECT_EQ(list[0].file, (cache_ / "b.hsaco").string());
  EXPECT_NE(list[0].object, list[0].file);
  EXPECT_NE(list[0].object, list[1].object);
  EXPECT_TRUE(fs::exists(list[1].object));
  EXPECT_EQ(list[2].symbol, "scale");
  EXPECT_EQ(list[2].object, (cache_ / "deep/a.hsaco").string());
}

TEST_F(KernelCacheTest, LeavesOutWhatOthersMayWrite) {
  Put("swap.plain.co", "mine.hsaco");
  Put("swap.better.co", "ours.hsaco", 0666);
  Make(cache_ / "open");
  Put("swap.better.co", "open/hidden.hsaco");
  chmod((cache_ / "open").c_str(), 0777);
  Open();
  ASSERT_EQ(List().size(), 1u);
  EXPECT_EQ(List()[0].file, (cache_ / "mine.hsaco").string());
  const auto remarks = open_->TakeRemarks();
  ASSERT_EQ(remarks.size(), 2u);
  EXPECT_NE(remarks[0].find("others may write to it"), std::string::npos) << remarks[0];
  Open("", true);
  EXPECT_EQ(List().size(), 3u);
}

TEST_F(KernelCacheTest, IsNotAFolderThatOthersMayWrite) {
  EXPECT_EQ(WhyNotTrusted(cache_), "");
  chmod(cache_.c_str(), 0777);
  EXPECT_NE(WhyNotTrusted(cache_).find("others may write to it"), std::string::npos);
  chmod(cache_.c_str(), 0700);
  Make(cache_ / "below");
  EXPECT_EQ(WhyNotTrusted(cache_ / "below"), "");
  chmod(cache_.c_str(), 0777);
  EXPECT_NE(WhyNotTrusted(cache_ / "below").find("above"), std::string::npos);
  chmod(cache_.c_str(), 01777);  // as /tmp is
  EXPECT_EQ(WhyNotTrusted(cache_ / "below"), "");
  EXPECT_NE(WhyNotTrusted(cache_ / "none").find("there is no folder"), std::string::npos);
}

TEST_F(KernelCacheTest, KeepsKernelsWhoseNamesMatch) {
  Put("gfx942.co", "all.hsaco");
  Open("Reduce<(float|double)>");
  ASSERT_EQ(List().size(), 2u);
  EXPECT_EQ(List()[0].called.substr(0, 19), "void shapes::Reduce");
  Open("^plain$");
  EXPECT_EQ(List().size(), 1u);
  EXPECT_FALSE(KernelCache::Open({cache_, "(", false}, folder_->path() / "bad").ok());
}

TEST_F(KernelCacheTest, SeesWhatIsAddedLater) {
  Open();
  EXPECT_EQ(List().size(), 0u);
  Put("swap.plain.co", "new.hsaco");
  open_->Look();
  ASSERT_EQ(List().size(), 1u);
  EXPECT_EQ(List()[0].round, 2u);
  open_->Look();
  EXPECT_EQ(List().size(), 1u);
  // A file that is written anew, one that is moved here, and one in a new folder.
  Put("swap.better.co", "new.hsaco");
  open_->Look();
  ASSERT_EQ(List().size(), 2u);
  EXPECT_EQ(List()[1].file, List()[0].file);
  EXPECT_GT(List()[1].round, List()[0].round);
  fs::copy_file(fs::path(ROCHOUND_TEST_FILES) / "swap.plain.co", folder_->path() / "x");
  fs::rename(folder_->path() / "x", cache_ / "moved.hsaco");
  Make(cache_ / "folder");
  Put("swap.plain.co", "folder/in.hsaco");
  open_->Look();
  open_->Look();
  EXPECT_EQ(List().size(), 4u);
}

TEST_F(KernelCacheTest, LeavesTritonsNewKernelsToTheProgram) {
  Make(cache_ / "HASH");
  base::WriteFile(cache_ / "HASH/__grp__scale.json", "{}").ok();
  Put("swap.plain.co", "HASH/scale.hsaco");
  Open();
  EXPECT_EQ(List().size(), 1u);
  Put("swap.better.co", "HASH/scale.hsaco");
  open_->Look();
  EXPECT_EQ(List().size(), 1u);
}

TEST_F(KernelCacheTest, IsTritonsIfAsked) {
  setenv("HOME", "/home/somebody", 1);
  unsetenv("TRITON_CACHE_DIR");
  EXPECT_EQ(KernelCacheDirectory("triton"), "/home/somebody/.triton/cache");
  setenv("TRITON_CACHE_DIR", "/fast/cache", 1);
  EXPECT_EQ(KernelCacheDirectory("triton"), "/fast/cache");
  EXPECT_EQ(KernelCacheDirectory("/a/b/../c"), "/a/c");
  EXPECT_EQ(KernelCacheDirectory(""), "");
}

}  // namespace
}  // namespace rochound::swap
