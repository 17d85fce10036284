// SPDX-License-Identifier: MIT
//
// `rochound merge`: several traces -> one file. Called once by main on its only thread.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/open_trace.h"

namespace rochound::cli {

class MergeCommand final : public Command {
 public:
  explicit MergeCommand(CLI::App& app);
  const char* examples() const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  TraceOptions trace_;
  std::string output_ = "merged.rpd";
};

}  // namespace rochound::cli
