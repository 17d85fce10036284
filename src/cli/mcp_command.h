// SPDX-License-Identifier: MIT
//
// `rochound mcp`: serves the Model Context Protocol on stdin and stdout (mcp/server.h), so that an
// assistant can use rochound. Called once by main on its thread.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace rochound::cli {

class McpCommand final : public Command {
 public:
  McpCommand(CLI::App& app, const char* version);

  const char* examples() const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  std::string version_;
  std::vector<std::string> folders_;
  bool allow_run_ = false;
  int timeout_seconds_ = 600;
};

}  // namespace rochound::cli
