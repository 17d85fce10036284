// SPDX-License-Identifier: MIT
//
// `rochound judge`: says whether a candidate kernel gives the same results as a captured one, for a
// lower price (optimize/judge.h). Called once by main on its only thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "optimize/judge.h"

namespace rochound::cli {

// The judge's tools for these bundles. softgpu: a name, or empty for one with the captured target.
base::Result<optimize::JudgeTools> FindJudgeTools(const std::string& first_bundle,
                                                  const std::string& softgpu);

// Options that all commands share which judge.
class JudgeSettings {
 public:
  void AddTo(CLI::App* subcommand);
  // What is wrong with them; empty: nothing.
  std::string Problem() const;
  optimize::JudgeOptions options() const;
  const std::string& softgpu() const { return softgpu_; }

 private:
  optimize::JudgeOptions options_;
  std::vector<std::string> flags_;
  double margin_percent_ = 2;
  bool no_special_ = false;
  std::string softgpu_;
};

class JudgeCommand final : public Command {
 public:
  explicit JudgeCommand(CLI::App& app);

  const char* examples() const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  std::vector<std::string> bundles_;
  std::string candidate_, source_;
  JudgeSettings settings_;
  bool json_ = false;
};

}  // namespace rochound::cli
