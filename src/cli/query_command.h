// SPDX-License-Identifier: MIT
//
// `rochound query` and `rochound shell`: SQL over a trace, once or line by line. Called once by
// main on its only thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/open_trace.h"

namespace rochound::cli {

class QueryCommand final : public Command {
 public:
  explicit QueryCommand(CLI::App& app);
  const char* examples() const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  TraceOptions trace_;
  bool json_ = false;
  bool csv_ = false;
  uint64_t limit_ = 0;
};

class ShellCommand final : public Command {
 public:
  explicit ShellCommand(CLI::App& app);
  const char* examples() const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  TraceOptions trace_;
};

}  // namespace rochound::cli
