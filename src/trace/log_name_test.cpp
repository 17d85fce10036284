// SPDX-License-Identifier: MIT
#include "trace/log_name.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process_stat.h"

namespace rochound::trace {
namespace {

TEST(LogNameTest, SaysProcessStartAndNumber) {
  const LogName first = ParseLogName("/runs/process-12-345");
  EXPECT_EQ(first.process, 12);
  EXPECT_EQ(first.start, 345u);
  EXPECT_EQ(first.number, 0u);
  EXPECT_EQ(NextLog("/runs/process-12-345", first), "/runs/process-12-345-1");
  const LogName third = ParseLogName("/runs/process-12-345-2");
  EXPECT_EQ(third.process, 12);
  EXPECT_EQ(third.number, 2u);
  EXPECT_EQ(NextLog("/runs/process-12-345-2", third), "/runs/process-12-345-3");
}

TEST(LogNameTest, OtherNamesAreNoLogs) {
  for (const char* name :
       {"", "process", "process-", "process-1", "process-1-", "process-x-1", "process-1-x",
        "process-1-1-x", "process-1-1 (copy)", "proces-1-1", "my-process-1-1", "process-1-1-2-3"})
    EXPECT_EQ(ParseLogName(name).process, 0) << name;
}

LogName NameOf(pid_t process) {
  const auto stat = base::ReadProcessStat(process);
  return {process, stat ? stat->start_ticks : 0, 0};
}

TEST(LogNameTest, AProcessIsKnownByItsStart) {
  LogName self = NameOf(getpid());
  EXPECT_EQ(ProcessState(self), 'R');
  ++self.start;
  EXPECT_EQ(ProcessState(self), 0);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  const LogName name = NameOf(child);
  EXPECT_EQ(ProcessState(name), 'Z');
  waitpid(child, nullptr, 0);
  EXPECT_EQ(ProcessState(name), 0);
}

}  // namespace
}  // namespace rochound::trace
