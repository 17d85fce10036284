// SPDX-License-Identifier: MIT
//
// `rochound softgpu`: runs a program on software GPUs. Called once by main on its only thread. It
// prepares the device tree and the environment and then becomes the program by exec, so exit code
// and signals are the program's own.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace rochound::cli {

class SoftgpuCommand final : public Command {
 public:
  // Adds the subcommand and its options to app; *this must outlive the parsing.
  explicit SoftgpuCommand(CLI::App& app);

  const char* examples() const override;

  // program: what followed "--". Returns an exit code only when there is nothing to run or
  // something went wrong.
  int Run(const std::vector<std::string>& program) override;

 private:
  int List() const;
  base::Result<void> SetAccesses() const;

  std::vector<std::string> gpus_ = {"mi300x"};
  std::vector<std::string> stray_;
  std::string counters_;
  bool counters_code_ = false;
  std::string caches_;
  std::string accesses_;
  std::string accesses_kernel_;
  std::string accesses_dispatches_;
  std::string faults_;  // as ParseInjectedFaults reads them; empty: none
  std::string fault_log_;
  bool strict_ = false;
  unsigned threads_ = 0;  // 0: not given
  bool list_ = false;
  bool json_ = false;
};

}  // namespace rochound::cli
