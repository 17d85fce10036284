// SPDX-License-Identifier: MIT
//
// Runs a program as our child, as if we were not there: signals that are sent to us go on to it,
// its end is ours. Used by `rochound run` on its only thread. Signals from a terminal reach the
// program by themselves, since it is in our process group; only those meant for us alone are passed
// on.
//
// From Start to the end of our process the signals that would end us stay blocked; what comes in
// after the program's end waits for Interrupted().
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace rochound::launch {

class ChildProcess {
 public:
  // environment: lines NAME=value. On failure *error_number is exec's errno.
  static base::Result<ChildProcess> Start(const std::vector<std::string>& program,
                                          const std::vector<std::string>& environment,
                                          int* error_number);

  pid_t pid() const { return pid_; }

  // Waits for the end and returns the status of waitpid. meanwhile: called now and then, as long as
  // the program runs; it tells when to call it again.
  int Wait(const std::function<std::chrono::milliseconds()>& meanwhile = nullptr);

  // For commands that start no program: from here on Interrupted tells, and nothing ends us.
  static void HoldInterrupts();

  // Whether somebody wants us to stop, since the program ended. Forgets it.
  static bool Interrupted();

  // After Start: nobody who stops reading our messages ends us from here on. What the program did
  // is still to be written. Messages go by functions that do not throw.
  static void OutliveReaders();

  // Ends this process the way that status says: with the exit code, or by the same signal.
  [[noreturn]] static void EndLike(int status);

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_;
};

}  // namespace rochound::launch
