// SPDX-License-Identifier: MIT
#include "optimize/confinement.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "launch/limited_run.h"
#include "optimize/confinement_testing.h"

namespace rochound::optimize {
namespace {

namespace fs = std::filesystem;

class ConfinementTest : public testing::Test {
 protected:
  ConfinementTest()
      : own_(base::TempDir::Create(fs::temp_directory_path(), "confined-").value()),
        others_(base::TempDir::Create(fs::temp_directory_path(), "others-").value()) {}

  // What a shell says that runs this under the limits.
  launch::LimitedRun Run(const std::string& script, Limits limits = {}) {
    limits.writable = {own_.path()};
    const auto confinement = Confinement::Prepare(limits);
    EXPECT_TRUE(confinement.ok());
    return launch::RunLimited({"/bin/sh", "-c", script}, {"PATH=/usr/bin:/bin"},
                              std::chrono::seconds(20), {},
                              [&] { return confinement.value().Apply(); })
        .value();
  }

  base::TempDir own_, others_;
};

TEST_F(ConfinementTest, GapsAreThoseOfTheKernel) {
  const auto confinement = Confinement::Prepare({});
  ASSERT_TRUE(confinement.ok());
  std::vector<std::string> kinds;  // "files: why" is a gap of files
  for (const std::string& gap : confinement.value().gaps())
    kinds.push_back(gap.substr(0, gap.find(':')));
  const long version = LandlockVersion();
  std::vector<std::string> expected;
  if (version < 1)
    expected = {"files"};
  else if (version < kFirstLandlockWithSignals)
    expected = {"signals"};
  EXPECT_EQ(kinds, expected) << "version " << version;
}

TEST_F(ConfinementTest, WritesBelowItsFolderOnly) {
  if (LandlockVersion() < 1) GTEST_SKIP() << "this kernel has no Landlock";
  const std::string own = own_.path() / "file", other = others_.path() / "file";
  EXPECT_EQ(Run("echo x > " + own + " && echo x > /dev/null").exit_code, 0);
  EXPECT_TRUE(fs::exists(own));
  EXPECT_NE(Run("echo x > " + other).exit_code, 0);
  EXPECT_FALSE(fs::exists(other));
  ASSERT_TRUE(base::WriteFile(other, "kept").ok());
  EXPECT_NE(Run("rm -f " + other + "; mv " + other + " " + own + "; : > " + other).exit_code, 0);
  EXPECT_EQ(base::ReadFile(other).value(), "kept");
}

TEST_F(ConfinementTest, ReadsBelowNamedFoldersOnly) {
  if (LandlockVersion() < 1) GTEST_SKIP() << "this kernel has no Landlock";
  const std::string secret = others_.path() / "secret";
  ASSERT_TRUE(base::WriteFile(secret, "secret").ok());
  EXPECT_EQ(Run("cat " + secret).out, "secret");
  Limits limits;
  limits.readable = {"/usr", "/bin", "/lib", "/lib64", "/etc"};
  EXPECT_EQ(Run("cat " + secret, limits).out, "");
}

TEST_F(ConfinementTest, HasNoNetwork) {
  EXPECT_EQ(Run("python3 -c 'import socket; socket.socket(socket.AF_UNIX)'").exit_code, 0);
  for (const char* const family : {"AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET"}) {
    const auto run = Run(std::string("python3 -c 'import socket; socket.socket(socket.") + family +
                         ", socket.SOCK_DGRAM)'");
    EXPECT_NE(run.exit_code, 0) << family;
    EXPECT_NE(run.err.find("PermissionError"), std::string::npos) << run.err;
  }
}

TEST_F(ConfinementTest, SignalsNobodyElse) {
  if (LandlockVersion() < kFirstLandlockWithSignals)
    GTEST_SKIP() << "this kernel's Landlock lets signals through";
  // Its own processes, but not ours.
  EXPECT_EQ(Run("sleep 10 & kill $!").exit_code, 0);
  EXPECT_NE(Run("kill -0 " + std::to_string(getpid())).exit_code, 0);
}

TEST_F(ConfinementTest, HasLimitsOfMemoryAndTime) {
  Limits limits;
  limits.memory_bytes = uint64_t{256} << 20;
  EXPECT_NE(Run("python3 -c 'bytearray(1 << 30)'", limits).exit_code, 0);
  limits = {};
  limits.cpu_seconds = 1;
  const auto run = Run("while :; do :; done", limits);
  EXPECT_NE(run.exit_code, 0);
  EXPECT_FALSE(run.timed_out);
}

}  // namespace
}  // namespace rochound::optimize
