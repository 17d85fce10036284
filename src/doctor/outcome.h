// SPDX-License-Identifier: MIT
//
// What became of a program under one setting, and what follows from all of them. The command line
// runs the program; this judges. Plain values, any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "doctor/settings.h"

namespace rochound::doctor {

struct Attempt {
  int exit_code = -1;  // -1: it did not exit by itself
  int signal = 0;
  bool timed_out = false;
  double seconds = 0;
  std::string out;
  std::string err;

  bool worked() const { return exit_code == 0; }
};

struct Row {
  Setting setting;
  std::vector<Attempt> attempts;
  std::vector<std::string> unread;  // its variables that no library here reads

  size_t successes() const;
  bool works() const { return !attempts.empty() && successes() == attempts.size(); }
  // "ok", "exit code 3", "signal 6 (Aborted)", "time-out"; of the first attempt that failed, with
  // "2 of 5 ok, else ..." if they differ.
  std::string Outcome() const;
  // The runtime's or the program's message about the failure; empty if there is none.
  std::string Message() const;
};

// The line of a program's output that tells best why it failed.
std::string FailureMessage(const std::string& out, const std::string& err);

enum class Conclusion { kWorks, kSomeHelp, kNoneHelps };
Conclusion Conclude(const std::vector<Row>& rows);
// In words, with the command that keeps a setting.
std::string ConclusionText(const std::vector<Row>& rows);

nlohmann::ordered_json ToJson(const std::vector<Row>& rows, const BootAdvice& boot);
std::string ToText(const std::vector<Row>& rows, const BootAdvice& boot, size_t width);

}  // namespace rochound::doctor
