// SPDX-License-Identifier: MIT
//
// `rochound selftest`: runs the test programs on the GPU that is here, and on them the recorder, a
// capture and its replay, and says per program whether it went as on the software GPU, where all of
// it was seen to work. This is how somebody with a card proves us right or wrong. Called once by
// main on its only thread; programs run as children with a time limit.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace rochound::cli {

class SelftestCommand final : public Command {
 public:
  explicit SelftestCommand(CLI::App& app);

  const char* examples() const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  base::Result<std::vector<std::filesystem::path>> Programs() const;

  std::vector<std::string> names_;
  std::string folder_;
  std::string softgpu_;
  double limit_ = 120;
  bool list_ = false;
  bool json_ = false;
};

}  // namespace rochound::cli
