// SPDX-License-Identifier: MIT
//
// `rochound probe`: builds programs with probes in their kernels (build), runs them and writes down
// what the probes say, or reads again what they said (read). Called once by main on its only
// thread. A program comes first: its exit code or signal is ours.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "launch/run_environment.h"
#include "probe/analyzer.h"

namespace rochound::cli {

class ProbeCommand final : public Command {
 public:
  explicit ProbeCommand(CLI::App& app);

  const char* examples() const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  void TakeTheirVariables();
  std::string Problem() const;  // empty: none
  int Build(const std::vector<std::string>& command) const;
  int MakeObjects() const;
  // Without probes: what rochound run does.
  int RunUnprobed(const std::vector<std::string>& program) const;
  // What plugins do is done in a process of its own.
  static int Apart(const std::string& analyzer, const std::function<int()>& work,
                   uint64_t limit_ns);
  // One analyzer after the other.
  int Read(const std::filesystem::path& folder) const;
  // first: what is true for all of them is said once.
  int ReadHere(const std::filesystem::path& folder, const std::string& analyzer, bool first) const;
  static const probe::AnalyzerKind& Kind(const std::string& analyzer);
  probe::AnswerFormat Format(const std::string& analyzer) const;
  // Where its answer goes; - is stdout.
  std::string OutputOf(const std::string& analyzer) const;
  bool AsMachine(const std::string& analyzer) const;
  int RunProbed(const std::vector<std::string>& program);
  void SetProbing(const std::filesystem::path& folder, launch::Environment* environment) const;

  std::string action_;
  std::vector<std::string> operands_;  // a folder, or files
  std::string kernel_;
  std::string dispatches_;
  std::vector<std::string> analyzers_;
  std::string analyzer_limit_ = "10m";
  std::string output_;
  std::string format_;
  std::string svg_, code_;
  std::string keep_;
  std::string buffer_;
  std::string lanes_;
  std::string groups_[3];
  std::string softgpu_;
  bool json_ = false;
  bool machine_ = false;
  bool no_machine_ = false;
  bool drop_ = false;
  bool blocks_ = false;
  bool verbose_ = false;
  bool instrumented_ = true;
  bool print_environment_ = false;
  std::string cache_;
  std::string target_;
  std::string clang_;
};

}  // namespace rochound::cli
