// SPDX-License-Identifier: MIT
//
// What the programs that live and end in many ways share: children, how they ended, and by how much
// memory grew.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

// How children ended, and how often.
class Ends {
 public:
  // A child that does not end within so long is killed, and that is how it ended.
  static constexpr std::chrono::seconds kPatience{30};

  void Collect(const std::string& what, pid_t child) {
    int status = 0;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    pid_t found = 0;
    while ((found = waitpid(child, &status, WNOHANG)) == 0) {
      if (std::chrono::steady_clock::now() > deadline) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        ++counts_[what + ": no end"];
        return;
      }
      usleep(500);
    }
    if (found != child)
      ++counts_[what + ": no child"];
    else if (WIFSIGNALED(status))
      ++counts_[what + ": signal " + std::to_string(WTERMSIG(status))];
    else
      ++counts_[what + ": exit code " + std::to_string(WEXITSTATUS(status))];
  }
  void Print() const {
    for (const auto& [end, count] : counts_) printf("%s, %u times\n", end.c_str(), count);
  }

 private:
  std::map<std::string, unsigned> counts_;
};

// stdout is empty before each fork, so that a child that flushes it says nothing twice.
inline pid_t Fork(const std::function<void()>& child) {
  fflush(stdout);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  child();
  _exit(0);
}

// Of the process alone; what it maps of files is not counted.
inline uint64_t ResidentKiB() {
  FILE* const file = fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  unsigned long of_files = 0;
  if (file == nullptr || fscanf(file, "%*s %lu %lu", &pages, &of_files) != 2) exit(2);
  fclose(file);
  return (pages - of_files) * 4;
}

// Prints by how much memory grew after the first tenth.
inline void Growing(unsigned rounds, const std::function<void()>& round) {
  const unsigned first = rounds / 10 + 1;
  for (unsigned i = 0; i < first; ++i) round();
  const uint64_t before = ResidentKiB();
  for (unsigned i = first; i < rounds; ++i) round();
  const uint64_t after = ResidentKiB();
  printf("elapsed: grew by %lld KiB\n",
         static_cast<long long>(after) - static_cast<long long>(before));
}
