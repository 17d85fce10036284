// SPDX-License-Identifier: MIT
//
// `rochound show`: a captured launch, or the kernels in a code object, fat binary, program or
// library, for people. Called once by main on its only thread.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "report/show_bundle.h"

namespace rochound::cli {

class ShowCommand final : public Command {
 public:
  // Adds the subcommand and its options to app; *this must outlive the parsing.
  explicit ShowCommand(CLI::App& app);

  const char* examples() const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  std::string path_;
  report::ShowOptions options_;
  bool json_ = false;
};

}  // namespace rochound::cli
