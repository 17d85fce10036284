// SPDX-License-Identifier: MIT
//
// `rochound log`: looks into flight logs. Called once by main on its only thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"
#include "trace/reader.h"

namespace rochound::cli {

class LogCommand final : public Command {
 public:
  // Adds the subcommand and its options to app; *this must outlive the parsing.
  explicit LogCommand(CLI::App& app);

  const char* examples() const override;
  std::vector<Action> actions() const override;

  // The exit code.
  int Run(const std::vector<std::string>& program) override;

 private:
  int Dump(const trace::RunLog& run) const;
  int Stat(const trace::RunLog& run) const;
  int Recover() const;

  std::string action_;
  std::string folder_;
  std::vector<std::string> kinds_;
  std::vector<uint32_t> processes_;
  uint64_t limit_ = 0;
  bool json_ = false;
  std::string output_ = "trace.rpd";
  std::string jsonl_;
  bool durations_ = false;
};

}  // namespace rochound::cli
