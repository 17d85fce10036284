// SPDX-License-Identifier: MIT
#include "launch/child_process.h"

#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "launch/exec_arguments.h"

namespace rochound::launch {
namespace {

// What is passed on. Stopping and going on is left to the terminal.
constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};

sigset_t Waited() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kPassedOn) sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

sigset_t Interrupts() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&set, signal);
  return set;
}

}  // namespace

base::Result<ChildProcess> ChildProcess::Start(const std::vector<std::string>& program,
                                               const std::vector<std::string>& environment,
                                               int* error_number) {
  const sigset_t waited = Waited();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &waited, &before);
  // An ignored SIGCHLD, inherited from somewhere, would let the program vanish unseen.
  struct sigaction normal{};
  normal.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &normal, nullptr);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &before);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const std::vector<char*> variables = ExecArguments(environment);
  const auto spawn = [&](const std::vector<std::string>& words) {
    const std::vector<char*> arguments = ExecArguments(words);
    return posix_spawnp(&pid, arguments[0], nullptr, &attributes, arguments.data(),
                        variables.data());
  };
  fflush(nullptr);
  int error = spawn(program);
  if (error == ENOEXEC) {  // a script that names no interpreter is the shell's, as for execvp
    std::vector<std::string> words = {"/bin/sh"};
    words.insert(words.end(), program.begin(), program.end());
    error = spawn(words);
  }
  posix_spawnattr_destroy(&attributes);
  *error_number = error;
  if (error == 0) return ChildProcess(pid);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return base::Error{"cannot run '" + program[0] + "': " + std::generic_category().message(error)};
}

int ChildProcess::Wait(const std::function<std::chrono::milliseconds()>& meanwhile) {
  const sigset_t waited = Waited();
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) return status;
    if (ended < 0 && errno != EINTR) return 1 << 8;  // somebody else took it: it is gone
    siginfo_t info{};
    int signal = 0;
    if (meanwhile) {
      const auto pause = meanwhile().count();
      const timespec timeout{pause / 1000, pause % 1000 * 1'000'000};
      signal = sigtimedwait(&waited, &info, &timeout);
    } else {
      signal = sigwaitinfo(&waited, &info);
    }
    // The kernel's own are those of the terminal, and the program has them already.
    if (signal > 0 && signal != SIGCHLD && info.si_code <= 0) kill(pid_, signal);
  }
}

void ChildProcess::HoldInterrupts() {
  const sigset_t set = Interrupts();
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

bool ChildProcess::Interrupted() {
  const sigset_t set = Interrupts();
  const timespec now{};
  return sigtimedwait(&set, nullptr, &now) > 0;
}

void ChildProcess::OutliveReaders() { signal(SIGPIPE, SIG_IGN); }

void ChildProcess::EndLike(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    // One core file is enough, and the program's is the one that somebody wants.
    const struct rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    struct sigaction normal{};
    normal.sa_handler = SIG_DFL;
    sigaction(signal, &normal, nullptr);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    fflush(nullptr);
    raise(signal);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    exit(128 + signal);
  }
  exit(WEXITSTATUS(status));
}

}  // namespace rochound::launch
