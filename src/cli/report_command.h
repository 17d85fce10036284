// SPDX-License-Identifier: MIT
//
// `rochound report` writes what is known about a trace into one HTML file, `rochound top` prints
// the first page of it. Called once by main on its only thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/questions.h"
#include "cli/command.h"
#include "cli/open_trace.h"

namespace rochound::cli {

class ReportCommand final : public Command {
 public:
  explicit ReportCommand(CLI::App& app);
  const char* examples() const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  TraceOptions trace_;
  std::string output_ = "report.html";
  std::string step_pattern_;
  uint64_t most_events_;
  bool by_queue_ = false;
  std::string profile_, optimize_, probe_;
};

class TopCommand final : public Command {
 public:
  explicit TopCommand(CLI::App& app);
  const char* examples() const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  TraceOptions trace_;
  uint64_t rows_ = 10;
  bool json_ = false;
};

}  // namespace rochound::cli
