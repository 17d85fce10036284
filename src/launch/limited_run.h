// SPDX-License-Identifier: MIT
//
// Runs a program to its end or until its time is up, and keeps what it said. For commands that ask
// other programs (the doctor, the judge, the MCP server), on any thread. The program gets no input;
// when its time is up, its whole process group is killed. It is killed, too, when the thread that
// waits for it ends with its process.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace rochound::launch {

struct LimitedRun {
  std::string out;  // at most kMostOutput of each; the rest is read and dropped
  std::string err;
  int exit_code = -1;      // -1: it did not exit
  int signal = 0;          // 0: none
  bool timed_out = false;  // and was killed for it
  bool stopped = false;    // by `waiting`
  double seconds = 0;

  bool ok() const { return exit_code == 0; }
  // "ended with exit code 3", "was killed by signal 11 (Segmentation fault)", ...
  std::string End() const;
};

inline constexpr size_t kMostOutput = size_t{4} << 20;

// How long a program has between SIGTERM and SIGKILL when it is stopped.
inline constexpr std::chrono::milliseconds kStopGrace{1200};

// environment: lines NAME=value. waiting: called about ten times a second with what there is so
// far; when it returns false, the program's process group is stopped. May be empty. prepare: called
// in the child before it becomes the program, and may do what is allowed after fork; it returns an
// errno, or 0. Fails if the program cannot be started.
base::Result<LimitedRun> RunLimited(
    const std::vector<std::string>& program, const std::vector<std::string>& environment,
    std::chrono::milliseconds limit,
    const std::function<bool(const LimitedRun& so_far)>& waiting = {},
    const std::function<int()>& prepare = {});

}  // namespace rochound::launch
