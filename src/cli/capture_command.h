// SPDX-License-Identifier: MIT
//
// `rochound capture`: runs a program with the agent in it, which keeps one launch of a kernel, and
// packs what it kept into a bundle. Called once by main on its only thread. The program comes
// first: its exit code or signal is ours, unless it ended well and there is no bundle.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace rochound::cli {

class CaptureCommand final : public Command {
 public:
  explicit CaptureCommand(CLI::App& app);

  const char* examples() const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  std::string Problem(const std::vector<std::string>& program) const;  // empty: none
  base::Result<void> Pack(const std::filesystem::path& raw) const;

  std::string kernel_;
  uint64_t nth_ = 1;
  uint64_t dispatch_ = 0;
  std::string shape_;
  std::string memory_ = "reachable";
  std::string output_ = "kernel.bundle";
  std::string softgpu_;
  bool raw_ = false;
  bool quiet_ = false;
  std::vector<std::string> stray_;
};

}  // namespace rochound::cli
