// SPDX-License-Identifier: MIT
#include "fleet/daemon/code_objects.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/files.h"
#include "base/process_stat.h"
#include "base/sha256.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;
const std::string kCode =
    "\x7f"
    "ELF in memory";

// A log's folder has the name of its process.
fs::path MakeLog(const fs::path& dir, pid_t process = getpid()) {
  const auto stat = base::ReadProcessStat(process);
  const fs::path log = dir / ("process-" + std::to_string(process) + "-" +
                              std::to_string(stat ? stat->start_ticks : 0));
  fs::create_directory(log);
  return log;
}

std::string InMemory(const std::string& bytes, pid_t process = getpid()) {
  return "memory://" + std::to_string(process) +
         "#offset=" + std::to_string(reinterpret_cast<uint64_t>(bytes.data())) +
         "&size=" + std::to_string(bytes.size());
}

TEST(CodeObjectsTest, ParsesTheLoadersWords) {
  const CodeOrigin file =
      ParseCodeUri("file:///home/a%20b/prog#offset=8192&size=100").value_or(CodeOrigin{});
  EXPECT_EQ(file.path, "/home/a b/prog");
  EXPECT_EQ(file.offset, 8192u);
  EXPECT_EQ(file.size, 100u);
  const CodeOrigin memory =
      ParseCodeUri("memory://4711#offset=0x7f0000001000&size=42").value_or(CodeOrigin{});
  EXPECT_EQ(memory.process, 4711);
  EXPECT_EQ(memory.offset, 0x7f0000001000u);
  for (const char* wrong : {"", "http://a", "file://", "memory://x", "file:///a#offset=b"})
    EXPECT_FALSE(ParseCodeUri(wrong)) << wrong;
}

TEST(CodeObjectsTest, HashesWhatWasLoaded) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-code-");
  const auto log = MakeLog(dir.value().path());
  ASSERT_TRUE(base::WriteFile(dir.value().path() / "program",
                              "xxxx\x7f"
                              "ELFcodeyyyy")
                  .ok());
  CodeObjects objects(log);
  EXPECT_EQ(objects.Hash(1), "");  // not said yet
  const std::string program = "file://" + (dir.value().path() / "program").string();
  ASSERT_TRUE(base::WriteFile(log / "code_objects",
                              "1\t" + program + "#offset=4&size=8\n2\t" + InMemory(kCode) +
                                  "\n3\tfile:///nothing/there#offset=0&size=4\n4\t" + program +
                                  "#offset=0&size=8\n")
                  .ok());
  EXPECT_EQ(objects.Hash(1), base::Sha256("\x7f"
                                          "ELFcode")
                                 .substr(0, 32));
  EXPECT_EQ(objects.Hash(2), base::Sha256(kCode).substr(0, 32));
  EXPECT_EQ(objects.Hash(3), "");
  EXPECT_EQ(objects.Hash(4), "") << "that is no code object";
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
  const auto log = MakeLog(dir.value().path());
  const std::string hash = base::Sha256(kCode).substr(0, 32);
  ASSERT_TRUE(
      base::WriteFile(log / "code_objects", "1\t" + InMemory(kCode) + "\t" + hash + "\n").ok());
  const auto folder = dir.value().path() / "store";
  CodeStore store(folder, 1 << 20);
  CodeObjects first(log);
  first.set_store(&store);
  EXPECT_EQ(first.Hash(1), hash);
  EXPECT_TRUE(store.Has(hash));
  // Other bytes under this hash show that the second process's are not read.
  ASSERT_TRUE(base::WriteFile(folder / hash, "mark").ok());
  CodeObjects second(log);
  second.set_store(&store);
  EXPECT_EQ(second.Hash(1), hash);
  EXPECT_EQ(base::ReadFile(folder / hash).value(), "mark");
}

TEST(CodeObjectsTest, AListIsReadOnceUntilItChanges) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-code-").value();
  const auto log = MakeLog(dir.path());
  const std::string list = "1\tnothing\tabc\n" + std::string(1 << 20, '\n');
  ASSERT_TRUE(base::WriteFileAtomically(log / "code_objects", list).ok());
  CodeObjects objects(log);
  const auto bytes_read = [] {
    return std::stoull(base::ReadFile("/proc/self/io").value().substr(7));  // rchar: N
  };
  const uint64_t before = bytes_read();
  EXPECT_EQ(objects.Hash(1), "abc");
  for (uint32_t number = 2; number < 50; ++number) EXPECT_EQ(objects.Hash(number), "");
  EXPECT_LT(bytes_read() - before, 3u << 20);
  ASSERT_TRUE(base::WriteFileAtomically(log / "code_objects", list + "2\tnothing\tdef\n").ok());
  EXPECT_EQ(objects.Hash(2), "def");
}

TEST(CodeObjectsTest, AFileThatWasBuiltAnewIsNotWhatWasLoaded) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-code-");
  const auto program = dir.value().path() / "program";
  ASSERT_TRUE(base::WriteFile(program,
                              "\x7f"
                              "ELF old")
                  .ok());
  ASSERT_TRUE(base::WriteFile(dir.value().path() / "code_objects",
                              "1\tfile://" + program.string() + "#offset=0&size=8\n")
                  .ok());
  usleep(20000);  // file systems count time coarsely
  ASSERT_TRUE(base::WriteFile(program,
                              "\x7f"
                              "ELF new")
                  .ok());
  EXPECT_EQ(CodeObjects(dir.value().path()).Hash(1), "");
}

// The daemon may read everybody's files and memory; who writes the log says which.
TEST(CodeObjectsTest, ReadsNoMoreThanTheLogsOwnerMay) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has the rights of others";
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-code-").value();
  ASSERT_EQ(chmod(dir.path().c_str(), 0755), 0);
  const auto file = [&](const fs::path& name, mode_t mode) {
    EXPECT_TRUE(base::WriteFile(dir.path() / name,
                                "\x7f"
                                "ELF " +
                                    name.string())
                    .ok());
    EXPECT_EQ(chmod((dir.path() / name).c_str(), mode), 0);
    return "file://" + (dir.path() / name).string();
  };
  const std::string roots = file("roots", 0600), all = file("all", 0644);
  ASSERT_EQ(mkdir((dir.path() / "closed").c_str(), 0700), 0);
  const std::string hidden = file("closed/hidden", 0644), theirs = file("closed/theirs", 0600);
  ASSERT_EQ(chown((dir.path() / "closed/theirs").c_str(), kNobody, kNobody), 0);
  // A process of somebody else, that has the same bytes at the same place.
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const auto log = MakeLog(dir.path(), child);
  ASSERT_TRUE(base::WriteFile(log / "code_objects",
                              "1\t" + roots + "\n2\t" + hidden + "\n3\t" + InMemory(kCode) +
                                  "\n4\t" + InMemory(kCode, child) + "\n5\t" + all + "\n")
                  .ok());
  CodeStore store(dir.path() / "store", 1 << 20);
  for (const uid_t owner : {kNobody, uid_t{0}}) {
    ASSERT_EQ(chown(log.c_str(), owner, owner), 0);
    ASSERT_EQ(chown((log / "code_objects").c_str(), owner, owner), 0);
    CodeObjects objects(log);
    objects.set_store(&store);
    for (const uint32_t number : {1u, 2u, 4u})
      EXPECT_EQ(objects.Hash(number).empty(), owner != 0) << number << " of " << owner;
    EXPECT_EQ(objects.Hash(3), "") << "the memory of another process";
    EXPECT_NE(objects.Hash(5), "");
    EXPECT_EQ(store.Has(base::Sha256("\x7f"
                                     "ELF roots")
                            .substr(0, 32)),
              owner == 0);
  }
  // A log that is somebody else's list is no list.
  ASSERT_EQ(chown(log.c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(CodeObjects(log).Hash(5), "");
  ASSERT_TRUE(base::WriteFile(log / "code_objects", "1\t" + theirs + "\n").ok());
  ASSERT_EQ(chown((log / "code_objects").c_str(), kNobody, kNobody), 0);
  EXPECT_NE(CodeObjects(log).Hash(1), "");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace rochound::fleet
