// SPDX-License-Identifier: MIT
//
// `rochound explain`: the answer to one question about a trace. Called once by main on its only
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/questions.h"
#include "cli/command.h"
#include "cli/open_trace.h"

namespace rochound::cli {

class ExplainCommand final : public Command {
 public:
  explicit ExplainCommand(CLI::App& app);
  const char* examples() const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  // Leaves what was found in an .rpd, as RPD's own tools do.

  std::string question_;
  TraceOptions trace_;
  std::vector<std::string> against_;  // diff: the runs after the change
  analysis::AskOptions ask_;
  std::string examples_;
  bool json_ = false;
  bool csv_ = false;
  bool write_ = false;
};

}  // namespace rochound::cli
