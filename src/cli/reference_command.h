// SPDX-License-Identifier: MIT
//
// `rochound reference`: all commands with their options, and all environment variables, as JSON.
// tools/reference makes pages, man pages and completions of it; --help does not show it. See
// command.h.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace rochound::cli {

class ReferenceCommand final : public Command {
 public:
  // commands: those to describe; they live as long as this, which is one of them.
  ReferenceCommand(CLI::App& app, const Commands& commands);

  const char* examples() const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  const Commands& commands_;
};

}  // namespace rochound::cli
