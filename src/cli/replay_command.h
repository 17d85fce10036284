// SPDX-License-Identifier: MIT
//
// `rochound replay`: runs a captured launch again, judges its result, and compares other builds of
// its kernel with it; or makes a project of it that needs no rochound. Called once by main on its
// only thread; the work is done by rochound-replay.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"

namespace rochound::cli {

class ReplayCommand final : public Command {
 public:
  explicit ReplayCommand(CLI::App& app);

  const char* examples() const override;
  std::vector<Action> actions() const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  std::string Problem(const std::vector<std::string>& program) const;  // empty: none
  // For rochound-replay, from the mode on. False: --verify does not make sense.
  bool Arguments(std::vector<std::string>* arguments) const;
  int Export() const;
  bool NeedsPoison() const;
  void SayWayWithoutGpu(nlohmann::ordered_json* answer) const;
  int RunOnce(const std::vector<std::string>& arguments) const;
  int Compare(const std::vector<std::string>& arguments) const;
  int Print(const nlohmann::ordered_json& answer) const;

  std::string action_;
  std::string bundle_;
  std::vector<std::string> builds_;
  std::string hsaco_;
  uint64_t iterations_ = 0;
  uint64_t warmup_ = 3;
  uint64_t vary_ = 0;
  std::string vary_integers_, inputs_;
  bool vary_special_ = false;
  bool count_ = false;
  std::string dump_;
  bool no_restore_ = false;
  bool no_poison_ = false;
  std::string verify_ = "exact";
  std::string as_;
  double timeout_ = 60;
  uint64_t show_ = 10;
  std::string softgpu_;
  std::string output_;
  bool json_ = false;
};

}  // namespace rochound::cli
