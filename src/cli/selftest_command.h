// SPDX-License-Identifier: MIT
//
// `rochound selftest`: runs the test programs on the GPU that is here, and on them the recorder, a
// capture and its replay, and says per program whether it went as on the software GPU, where all of
// it was seen to work. This is how somebody with a card proves us right or wrong. Called once by
// main on its only thread; programs run as children with a time limit.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
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
  // What is wrong with the command line; empty: nothing.
  std::string Problem() const;
  // Shows the report, and keeps it if that is wanted; the exit code.
  int Report(const std::filesystem::path& rochound, const std::filesystem::path& scratch,
             const nlohmann::ordered_json& steps) const;

  std::vector<std::string> names_;
  std::string folder_;
  std::string softgpu_;
  double limit_ = 120;
  std::string report_;
  std::string baseline_;
  bool yes_ = false;
  bool list_ = false;
  bool json_ = false;
};

}  // namespace rochound::cli
