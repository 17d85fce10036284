// SPDX-License-Identifier: MIT
//
// `rochound open`: writes a trace for Perfetto's viewer and says where to put it. Called once by
// main on its only thread.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/open_trace.h"

namespace rochound::cli {

class OpenCommand final : public Command {
 public:
  explicit OpenCommand(CLI::App& app);
  const char* examples() const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  TraceOptions trace_;
  std::string output_;
};

}  // namespace rochound::cli
