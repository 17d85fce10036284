// SPDX-License-Identifier: MIT
//
// `rochound swap`: says of files whether their kernels can be swapped for each other. The swapping
// itself is done by `rochound run --kernel-cache`. Called once by main on its only thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/command.h"

namespace rochound::cli {

class SwapCommand final : public Command {
 public:
  // Adds the subcommand and its options to app; *this must outlive the parsing.
  explicit SwapCommand(CLI::App& app);

  const char* examples() const override;

  // The exit code.
  int Run(const std::vector<std::string>& program) override;

 private:
  std::string action_;
  std::string original_;
  std::string candidate_;
  std::string gpu_;
  bool json_ = false;
};

}  // namespace rochound::cli
