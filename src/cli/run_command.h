// SPDX-License-Identifier: MIT
//
// `rochound run`: runs a program with the agent in it and turns its log into a trace. Called once
// by main on its only thread. The program comes first: what goes wrong with the recording is said,
// and the program runs all the same; its exit code or signal is ours.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/trace_output.h"
#include "launch/run_environment.h"
#include "swap/kernel_cache.h"

namespace rochound::cli {

class RunCommand final : public Command {
 public:
  // Adds the subcommand and its options to app; *this must outlive the parsing.
  explicit RunCommand(CLI::App& app);

  const char* examples() const override;

  // program: what followed "--". Returns an exit code only when the program was not run.
  int Run(const std::vector<std::string>& program) override;

 private:
  std::string Problem(const std::vector<std::string>& program) const;  // empty: none
  TraceOutput Output() const;
  std::string SwapProblem() const;
  swap::KernelCacheOptions SwapOptions() const;
  void KeepEarlierTrace(std::filesystem::path* rpd) const;

  std::string output_;
  std::string log_directory_;
  launch::Recording recording_;
  std::string jsonl_;
  std::string softgpu_;
  std::string kernel_cache_;
  std::string swap_;
  bool durations_ = false;
  bool log_only_ = false;
  bool quiet_ = false;
  bool force_ = false;
  bool findings_ = false;
  std::vector<std::string> stray_;
};

}  // namespace rochound::cli
