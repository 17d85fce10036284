// SPDX-License-Identifier: MIT
#include "launch/limited_run.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "base/files.h"

namespace rochound::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::vector<std::string> kEnvironment = {"PATH=/usr/bin:/bin"};

LimitedRun Shell(const std::string& script, milliseconds limit,
                 const std::function<bool(const LimitedRun&)>& waiting = {}) {
  return RunLimited({"/bin/sh", "-c", script}, kEnvironment, limit, waiting).value();
}

bool Exists(pid_t process) { return kill(process, 0) == 0; }

// Whether it is gone soon. Nobody reaps what has no parent here, so a zombie counts.
bool Ends(pid_t process) {
  for (int i = 0; i < 100; ++i) {
    if (!Exists(process)) return true;
    const auto stat = base::ReadFile("/proc/" + std::to_string(process) + "/stat");
    if (!stat.ok() || stat.value().find(") Z ") != std::string::npos) return true;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return false;
}

TEST(LimitedRunTest, KeepsWhatIsSaidAndTheExitCode) {
  const LimitedRun run = Shell("echo out; echo err >&2; exit 3", seconds(20));
  EXPECT_EQ(run.out, "out\n");
  EXPECT_EQ(run.err, "err\n");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_FALSE(run.stopped || run.timed_out);
}

TEST(LimitedRunTest, KillsTheGroupWhenItsTimeIsUp) {
  const LimitedRun run = Shell("sleep 60 & echo $!; wait", milliseconds(300));
  EXPECT_TRUE(run.timed_out);
  EXPECT_TRUE(Ends(atoi(run.out.c_str())));
}

TEST(LimitedRunTest, AStoppedProgramMayEndInOrder) {
  const LimitedRun run =
      Shell("trap 'echo bye; exit 4' TERM; echo ready; sleep 60 & wait", seconds(60),
            [](const LimitedRun& so_far) { return so_far.out.empty(); });
  EXPECT_TRUE(run.stopped);
  EXPECT_FALSE(run.timed_out);
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_EQ(run.End(), "was stopped");
}

TEST(LimitedRunTest, AStoppedGroupThatIgnoresItIsKilled) {
  const LimitedRun run = Shell("trap '' TERM; sleep 60 & echo $!; wait; sleep 60", seconds(60),
                               [](const LimitedRun& so_far) { return so_far.out.empty(); });
  EXPECT_TRUE(run.stopped);
  EXPECT_LT(run.seconds, 30);
  EXPECT_TRUE(Ends(atoi(run.out.c_str())));
}

TEST(LimitedRunTest, WhatWasLeftBehindAndKeepsWritingIsNotWaitedFor) {
  const LimitedRun run = Shell("while echo more; do :; done & sleep 0.3", seconds(60),
                               [](const LimitedRun& so_far) { return so_far.seconds < 1; });
  EXPECT_LT(run.seconds, 30);
}

TEST(LimitedRunTest, DiesWithTheOneWhoWaits) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t waiting = fork();
  if (waiting == 0) {
    (void)RunLimited({"/bin/sh", "-c", "sleep 60"}, kEnvironment, seconds(60), {}, [&] {
      const pid_t self = getpid();
      return write(ends[1], &self, sizeof self) == sizeof self ? 0 : EIO;
    });
    _exit(0);
  }
  pid_t child = 0;
  ASSERT_EQ(read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  close(ends[0]);
  close(ends[1]);
  EXPECT_TRUE(Exists(child));
  kill(waiting, SIGKILL);
  waitpid(waiting, nullptr, 0);
  EXPECT_TRUE(Ends(child));
}

}  // namespace
}  // namespace rochound::launch
