// SPDX-License-Identifier: MIT
#include "launch/work_apart.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/files.h"
#include "base/units.h"
#include "launch/child_process.h"

namespace rochound::launch {

using base::Error;
using base::Result;
using Clock = std::chrono::steady_clock;

Result<int> WorkApart(const std::function<int()>& work, std::chrono::nanoseconds limit) {
  int ends[2];  // the child writes its result; who ends otherwise has written none
  if (pipe2(ends, O_CLOEXEC) != 0) return base::ErrnoError("cannot make", "a pipe", errno);
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    const int error_number = errno;
    for (const int end : ends) close(end);
    return base::ErrnoError("cannot start", "a process", error_number);
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const int code = work();
    std::fflush(nullptr);
    const ssize_t written = write(ends[1], &code, sizeof code);
    _exit(written == sizeof code ? 0 : 1);
  }
  close(ends[1]);
  const auto end = Clock::now() + limit;
  constexpr int kLook = 100;  // milliseconds
  bool late = false, stopped = false, finished = false, open = true;
  int code = 0;
  while (!finished && !late && !stopped) {
    siginfo_t over = {};
    const bool ended =
        waitid(P_PID, static_cast<id_t>(child), &over, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        over.si_pid == child;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd result = {open ? ends[0] : -1, POLLIN, 0};
    if (poll(&result, 1,
             ended ? 0 : static_cast<int>(std::clamp<int64_t>(left.count(), 0, kLook))) > 0) {
      finished = read(ends[0], &code, sizeof code) == sizeof code;
      open = finished;
    }
    if (ended) break;
    late = Clock::now() >= end;
    stopped = ChildProcess::Interrupted();
  }
  close(ends[0]);
  // What is finished has nothing left to do, whatever threads it has left behind.
  if (finished || late || stopped) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (finished) return code;
  if (stopped) return Error("was stopped");
  if (late) return Error(fmt::format("did not end within {}", base::TimeText(limit.count())));
  if (WIFSIGNALED(status))
    return Error(
        fmt::format("was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status))));
  return Error(fmt::format("ended its process with exit code {}", WEXITSTATUS(status)));
}

}  // namespace rochound::launch
