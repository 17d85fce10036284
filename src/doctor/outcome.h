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

  // A program that catches a fault of the GPU and ends with 0 has failed all the same.
  bool worked() const { return exit_code == 0 && !gpu_failed(); }
  bool gpu_failed() const;  // by what the runtimes have written
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

// The probability that two settings which are alike differ at least so much in this direction: the
// second one succeeds more often (Fisher's exact test).
double ChanceOf(size_t first_ok, size_t first_runs, size_t second_ok, size_t second_runs);
// The row works more often than the first one, and that is no chance, of however many rows there
// are.
bool Helps(const std::vector<Row>& rows, size_t row);
bool Harms(const std::vector<Row>& rows, size_t row);

// kByChance: it fails now and then, and no setting makes a difference that is not chance.
enum class Conclusion { kWorks, kSomeHelp, kNoneHelps, kByChance };
Conclusion Conclude(const std::vector<Row>& rows);
// In words, with the command that keeps a setting.
std::string ConclusionText(const std::vector<Row>& rows);

nlohmann::ordered_json ToJson(const std::vector<Row>& rows, const BootAdvice& boot);
std::string ToText(const std::vector<Row>& rows, const BootAdvice& boot, size_t width);

}  // namespace rochound::doctor
