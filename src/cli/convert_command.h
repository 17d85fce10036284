// SPDX-License-Identifier: MIT
//
// `rochound convert`: traces of any format -> one of the formats that we write. Called once by main
// on its only thread.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/open_trace.h"

namespace rochound::cli {

class ConvertCommand final : public Command {
 public:
  explicit ConvertCommand(CLI::App& app);
  const char* examples() const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  TraceOptions trace_;
  std::string output_;
  std::string format_;
};

}  // namespace rochound::cli
