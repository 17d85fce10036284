// SPDX-License-Identifier: MIT
#include "fleet/daemon/code_objects.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"
#include "base/sha256.h"

namespace rochound::fleet {
namespace {

TEST(CodeObjectsTest, ParsesTheLoadersWords) {
  const auto file = ParseCodeUri("file:///home/a%20b/prog#offset=8192&size=100");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->path, "/home/a b/prog");
  EXPECT_EQ(file->offset, 8192u);
  EXPECT_EQ(file->size, 100u);
  const auto memory = ParseCodeUri("memory://4711#offset=0x7f0000001000&size=42");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->process, 4711);
  EXPECT_EQ(memory->offset, 0x7f0000001000u);
  for (const char* wrong : {"", "http://a", "file://", "memory://x", "file:///a#offset=b"})
    EXPECT_FALSE(ParseCodeUri(wrong)) << wrong;
}

TEST(CodeObjectsTest, HashesWhatWasLoaded) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-code-");
  const auto log = dir.value().path() / "log";
  std::filesystem::create_directory(log);
  ASSERT_TRUE(base::WriteFile(dir.value().path() / "program", "xxxxthe codeyyyy").ok());
  static const std::string kMemory = "code in memory";
  CodeObjects objects(log);
  EXPECT_EQ(objects.Hash(1), "");  // not said yet
  ASSERT_TRUE(
      base::WriteFile(log / "code_objects",
                      "1\tfile://" + (dir.value().path() / "program").string() +
                          "#offset=4&size=8\n2\tmemory://" + std::to_string(getpid()) +
                          "#offset=" + std::to_string(reinterpret_cast<uint64_t>(kMemory.data())) +
                          "&size=14\n3\tfile:///nothing/there#offset=0&size=4\n")
          .ok());
  EXPECT_EQ(objects.Hash(1), base::Sha256("the code").substr(0, 32));
  EXPECT_EQ(objects.Hash(2), base::Sha256(kMemory).substr(0, 32));
  EXPECT_EQ(objects.Hash(3), "");
  EXPECT_EQ(objects.Hash(0), "");
}

TEST(CodeObjectsTest, TakesTheRecordersHashOfWhatWasInMemory) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-code-");
  const std::string hash = base::Sha256("it is gone by now");
  ASSERT_TRUE(base::WriteFile(dir.value().path() / "code_objects",
                              "7\tmemory://1#offset=0x1000&size=17\t" + hash + "\n")
                  .ok());
  CodeObjects objects(dir.value().path());
  EXPECT_EQ(objects.Hash(7), hash.substr(0, 32));
}

TEST(CodeObjectsTest, KeepsBytesOnce) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-code-");
  static const std::string kMemory = "code in memory";
  const std::string hash = base::Sha256(kMemory).substr(0, 32);
  ASSERT_TRUE(base::WriteFile(dir.value().path() / "code_objects",
                              "1\tmemory://" + std::to_string(getpid()) + "#offset=" +
                                  std::to_string(reinterpret_cast<uint64_t>(kMemory.data())) +
                                  "&size=14\t" + hash + "\n")
                  .ok());
  const auto folder = dir.value().path() / "store";
  CodeStore store(folder, 1 << 20);
  CodeObjects first(dir.value().path());
  first.set_store(&store);
  EXPECT_EQ(first.Hash(1), hash);
  EXPECT_TRUE(store.Has(hash));
  // Other bytes under this hash show that the second process's are not read.
  ASSERT_TRUE(base::WriteFile(folder / hash, "mark").ok());
  CodeObjects second(dir.value().path());
  second.set_store(&store);
  EXPECT_EQ(second.Hash(1), hash);
  EXPECT_EQ(base::ReadFile(folder / hash).value(), "mark");
}

TEST(CodeObjectsTest, AFileThatWasBuiltAnewIsNotWhatWasLoaded) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-code-");
  const auto program = dir.value().path() / "program";
  ASSERT_TRUE(base::WriteFile(program, "old code").ok());
  ASSERT_TRUE(base::WriteFile(dir.value().path() / "code_objects",
                              "1\tfile://" + program.string() + "#offset=0&size=8\n")
                  .ok());
  usleep(20000);  // file systems count time coarsely
  ASSERT_TRUE(base::WriteFile(program, "new code").ok());
  EXPECT_EQ(CodeObjects(dir.value().path()).Hash(1), "");
}

}  // namespace
}  // namespace rochound::fleet
