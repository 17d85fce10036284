// SPDX-License-Identifier: MIT
#include "fleet/daemon/owner_files.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"

namespace rochound::fleet {
namespace {

constexpr uid_t kOwner = 65534, kDaemon = 4711;

// As the service runs: a user of its own, with the two capabilities.
bool BecomeTheService() {
  const uint32_t kept = 1u << CAP_DAC_READ_SEARCH | 1u << CAP_SYS_PTRACE;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{kept, kept, 0}, {0, 0, 0}};
  return prctl(PR_SET_KEEPCAPS, 1) == 0 && setresuid(kDaemon, kDaemon, kDaemon) == 0 &&
         syscall(SYS_capset, &header, data) == 0;
}

class OwnerFilesTest : public testing::Test {
 protected:
  OwnerFilesTest() : dir_(base::TempDir::Create("/tmp", "rochound-owner-").value()) {
    EXPECT_EQ(chmod(dir_.path().c_str(), 0755), 0);
  }
  std::string Make(const char* name, uid_t user, mode_t mode, bool folder = false) {
    const std::string path = dir_.path() / name;
    if (folder)
      std::filesystem::create_directory(path);
    else
      EXPECT_TRUE(base::WriteFile(path, name).ok());
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(chown(path.c_str(), user, user), 0);
    return path;
  }
  base::TempDir dir_;
};

TEST_F(OwnerFilesTest, CapabilitiesOpenNothingThatTheOwnerMayNotRead) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has the rights of others";
  const std::string log = Make("log", kOwner, 0700, true);
  Make("closed", 0, 0700, true);
  const std::string own = Make("log/own", kOwner, 0600), link = log + "/link";
  const std::string roots = Make("roots", 0, 0600), all = Make("all", 0, 0644);
  const std::string hidden = Make("closed/hidden", 0, 0644), daemons = Make("d", kDaemon, 0600);
  const std::string theirs = Make("closed/theirs", kOwner, 0600);
  std::filesystem::create_symlink(roots, link);
  const auto opens = [](const base::Result<int>& opened) { return opened.ok() ? '+' : '-'; };
  int answer[2];
  ASSERT_EQ(pipe(answer), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::string said = BecomeTheService() ? "" : "it has no capabilities: ";
    said += opens(base::OpenRegularFile(roots, nullptr));  // it could
    for (const std::string& path : {own, link, all}) said += opens(OpenerOf(log)(path, nullptr));
    said += ' ';
    for (const std::string& path :
         {own, theirs, all, link, roots, hidden, daemons, std::string("/proc/1/maps")})
      said += opens(OpenNamedFile(log, path, nullptr));
    _exit(write(answer[1], said.data(), said.size()) < 0);
  }
  close(answer[1]);
  char said[100] = "";
  EXPECT_GT(read(answer[0], said, sizeof said - 1), 0);
  close(answer[0]);
  waitpid(child, nullptr, 0);
  EXPECT_STREQ(said, "++-- +++-----");
}

}  // namespace
}  // namespace rochound::fleet
