// SPDX-License-Identifier: MIT
//
// Which system calls a program makes, and what becomes of it when others kill it.
//
//   recorder_system_calls learn FILE -- COMMAND...   adds the numbers of other calls that it makes
//   recorder_system_calls allow FILE -- COMMAND...   a call whose number is not in the file kills
//   it
//
// It ends as the command does. 77: the kernel does not offer this.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <bitset>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

namespace {

[[noreturn]] void Skip(const char* what) {
  fprintf(stderr, "SKIP: %s: %s\n", what, strerror(errno));
  _exit(77);
}

std::set<int> ReadCalls(const char* path) {
  std::set<int> calls;
  std::ifstream file(path);
  for (int call = 0; file >> call;) calls.insert(call);
  return calls;
}

// Lets these calls through; what becomes of the others is `otherwise`.
int Install(const std::set<int>& allowed, uint32_t otherwise, unsigned flags) {
  std::vector<sock_filter> code = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const int call : allowed) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, otherwise));
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) Skip("no_new_privs");
  const auto result =
      static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
  if (result < 0) Skip("seccomp");
  return result;
}

[[noreturn]] void Become(char** command) {
  execvp(command[0], command);
  fprintf(stderr, "%s: %s\n", command[0], strerror(errno));
  _exit(127);
}

void EndAs(int status) {
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  _exit(WEXITSTATUS(status));
}

// A thread is watched, and all that it starts; the first one lets every call through.
void Learn(const char* path, char** command) {
  const std::set<int> calls = ReadCalls(path);
  std::atomic<int> listener{-1};
  std::atomic<bool> over{false};
  int status = 0;
  std::thread watched([&] {
    listener = Install(calls, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    const pid_t child = fork();
    if (child == 0) Become(command);
    waitpid(child, &status, 0);
    over = true;
  });
  watched.detach();
  while (listener < 0) usleep(100);
  // No allocation in this loop: the other thread may have to wait for us with the allocator's
  // locks.
  std::bitset<1024> others;
  while (!over) {
    pollfd ready{listener, POLLIN, 0};
    if (poll(&ready, 1, 100) <= 0) continue;
    seccomp_notif call{};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) continue;
    others.set(static_cast<size_t>(call.data.nr) % others.size());
    seccomp_notif_resp answer{};
    answer.id = call.id;
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
  std::ofstream file(path, std::ios::app);
  for (size_t call = 0; call < others.size(); ++call)
    if (others[call]) file << call << '\n';
  file.close();
  EndAs(status);
}

void Allow(const char* path, char** command) {
  Install(ReadCalls(path), SECCOMP_RET_KILL_PROCESS, 0);
  Become(command);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || strcmp(argv[3], "--") != 0) return 2;
  strcmp(argv[1], "learn") == 0 ? Learn(argv[2], argv + 4) : Allow(argv[2], argv + 4);
  return 2;
}
