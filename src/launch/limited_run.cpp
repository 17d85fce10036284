// SPDX-License-Identifier: MIT
#include "launch/limited_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "launch/exec_arguments.h"

namespace rochound::launch {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int read = -1;
  int write = -1;
};

base::Result<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return base::Error{"cannot make a pipe: " + std::generic_category().message(errno)};
  return Pipe{ends[0], ends[1]};
}

// In the child; does not come back. Only what is allowed after fork.
[[noreturn]] void Become(char* const* arguments, char* const* environment, int out, int err,
                         int report, const std::function<int()>& prepare) {
  setpgid(0, 0);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing goes on without the one who waits for it
  int error_number = prepare ? prepare() : 0;
  if (error_number == 0) {
    execvpe(arguments[0], arguments, environment);
    error_number = errno;
  }
  const ssize_t ignored = write(report, &error_number, sizeof(error_number));
  (void)ignored;
  _exit(127);
}

// Takes what is there; false at the end.
bool Drain(int fd, std::string* text) {
  std::array<char, 65536> buffer;
  const ssize_t got = read(fd, buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  if (got == 0) return false;
  const size_t room = kMostOutput - std::min(text->size(), kMostOutput);
  text->append(buffer.data(), std::min(room, static_cast<size_t>(got)));
  return true;
}

}  // namespace

std::string LimitedRun::End() const {
  char number[32];
  snprintf(number, sizeof(number), "%.3g", seconds);
  if (stopped) return "was stopped";
  if (timed_out) return std::string("did not end within ") + number + " s";
  if (signal != 0)
    return "was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  return "ended with exit code " + std::to_string(exit_code);
}

base::Result<LimitedRun> RunLimited(const std::vector<std::string>& program,
                                    const std::vector<std::string>& environment,
                                    std::chrono::milliseconds limit,
                                    const std::function<bool(const LimitedRun& so_far)>& waiting,
                                    const std::function<int()>& prepare) {
  ROCHOUND_TRY(const Pipe out, MakePipe());
  ROCHOUND_TRY(const Pipe err, MakePipe());
  ROCHOUND_TRY(const Pipe report, MakePipe());
  const std::vector<char*> arguments = ExecArguments(program);
  const std::vector<char*> variables = ExecArguments(environment);
  const auto start = Clock::now();
  const pid_t pid = fork();
  if (pid == 0)
    Become(arguments.data(), variables.data(), out.write, err.write, report.write, prepare);
  for (const int fd : {out.write, err.write, report.write}) close(fd);
  if (pid < 0) {
    for (const int fd : {out.read, err.read, report.read}) close(fd);
    return base::Error{"cannot start a process: " + std::generic_category().message(errno)};
  }
  setpgid(pid, pid);  // both do it, so that it is done before either goes on

  LimitedRun run;
  int exec_error = 0;
  const bool failed = read(report.read, &exec_error, sizeof(exec_error)) == sizeof(exec_error);
  close(report.read);

  std::array<pollfd, 2> polled = {pollfd{out.read, POLLIN, 0}, pollfd{err.read, POLLIN, 0}};
  std::array<std::string*, 2> texts = {&run.out, &run.err};
  int status = 0;
  bool ended = false;
  Clock::time_point stop;
  while (true) {
    poll(polled.data(), polled.size(), 100);
    for (size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].fd >= 0 && polled[i].revents != 0 && !Drain(polled[i].fd, texts[i])) {
        close(polled[i].fd);
        polled[i].fd = -1;
      }
    }
    run.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (!ended) ended = waitpid(pid, &status, WNOHANG) == pid;
    const bool quiet = polled[0].revents == 0 && polled[1].revents == 0;
    const auto now = Clock::now();
    const bool late = !run.stopped && now - start > limit;
    // A process that it left behind may hold the pipes for ever, or write into them.
    const bool all = quiet || (polled[0].fd < 0 && polled[1].fd < 0);
    if (ended && (all || late || run.stopped)) break;
    if (!ended && (late || (run.stopped && now - stop > kStopGrace))) {
      run.timed_out = late;
      kill(-pid, SIGKILL);
      waitpid(pid, &status, 0);
      ended = true;
    }
    if (waiting && !run.stopped && !waiting(run)) {
      run.stopped = true;
      stop = Clock::now();
      kill(-pid, SIGTERM);
    }
  }
  if (run.stopped) kill(-pid, SIGKILL);  // what did not end with the first of them
  for (const pollfd& one : polled)
    if (one.fd >= 0) close(one.fd);
  if (failed) {
    return base::Error{"cannot run '" + program[0] +
                       "': " + std::generic_category().message(exec_error)};
  }
  if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) run.signal = WTERMSIG(status);
  return run;
}

}  // namespace rochound::launch
