// SPDX-License-Identifier: MIT
//
// `rochound log`: looks into flight logs. Called once by main on its only thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/reader.h"

namespace rochound::cli {

class LogCommand {
 public:
  // For the end of --help.
  static const char* const kExamples;

  // Adds the subcommand and its options to app; *this must outlive the parsing.
  explicit LogCommand(CLI::App& app);

  bool Chosen() const { return subcommand_->parsed(); }

  // The exit code.
  int Run() const;

 private:
  int Usage(const std::string& problem) const;
  int Dump(const trace::RunLog& run) const;
  int Stat(const trace::RunLog& run) const;
  int Recover() const;

  CLI::App* subcommand_;
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
