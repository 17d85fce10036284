// SPDX-License-Identifier: MIT
#include "launch/process_tree.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace rochound::launch {
namespace {

// A process that waits, with a child of its own; killed at the end.
class Family {
 public:
  Family() {
    int tell[2];
    EXPECT_EQ(pipe(tell), 0);
    parent_ = fork();
    if (parent_ == 0) {
      prctl(PR_SET_NAME, "a) S 1 (b");  // what a careless reader of /proc/PID/stat stumbles over
      const pid_t child = fork();
      if (child != 0 && write(tell[1], &child, sizeof child) != sizeof child) _exit(1);
      for (;;) pause();
    }
    EXPECT_EQ(read(tell[0], &child_, sizeof child_), static_cast<ssize_t>(sizeof child_));
    close(tell[0]);
    close(tell[1]);
  }
  ~Family() {
    kill(child_, SIGKILL);
    kill(parent_, SIGKILL);
    waitpid(parent_, nullptr, 0);
  }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  pid_t parent() const { return parent_; }
  pid_t child() const { return child_; }

 private:
  pid_t parent_ = 0;
  pid_t child_ = 0;
};

TEST(ProcessTree, HoldsTheProcessAndItsDescendants) {
  const Family family;
  EXPECT_EQ(ProcessTree(family.parent()), (std::vector<pid_t>{family.parent(), family.child()}));
  EXPECT_EQ(ProcessTree(family.child()), std::vector<pid_t>{family.child()});
  const auto ours = ProcessTree(getpid());
  ASSERT_GE(ours.size(), 3u);
  EXPECT_EQ(ours[0], getpid());
  EXPECT_NE(std::find(ours.begin(), ours.end(), family.child()), ours.end());
}

TEST(ProcessTree, IsEmptyWithoutTheProcess) {
  EXPECT_TRUE(ProcessTree(0).empty());
  EXPECT_TRUE(ProcessTree(-1).empty());
  EXPECT_TRUE(ProcessTree(1 << 30).empty());
}

TEST(ProcessFacts, AreThoseOfTheProcess) {
  EXPECT_TRUE(ProcessExists(getpid()));
  EXPECT_FALSE(ProcessExists(1 << 30));
  EXPECT_EQ(ProcessUser(getpid()), geteuid());
  EXPECT_EQ(EffectiveUser(getpid()), geteuid());
  EXPECT_NE(ProcessCommand(getpid()).find("launch_test"), std::string::npos);
  EXPECT_EQ(ProcessCommand(1 << 30), "");
  ASSERT_NE(getenv("PATH"), nullptr);
  EXPECT_EQ(ProcessVariable(getpid(), "PATH"), getenv("PATH"));
  EXPECT_FALSE(ProcessVariable(getpid(), "PAT").has_value());
  EXPECT_FALSE(ProcessVariable(1 << 30, "PATH").has_value());
}

}  // namespace
}  // namespace rochound::launch
