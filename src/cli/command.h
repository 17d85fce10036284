// SPDX-License-Identifier: MIT
//
// A subcommand of rochound: adds itself to the command line when it is made, and runs when it was
// chosen. Owned by main, which uses one thread.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace rochound::cli {

class Command {
 public:
  virtual ~Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  bool Chosen() const { return subcommand_->parsed(); }
  std::string name() const { return subcommand_->get_name(); }
  // For the end of --help.
  virtual const char* examples() const = 0;
  // The exit code. program: what stood behind --.
  virtual int Run(const std::vector<std::string>& program) = 0;

 protected:
  explicit Command(CLI::App* subcommand) : subcommand_(subcommand) {}

  // Says what is wrong with the command line; the exit code for it.
  int Usage(const std::string& problem) const;

  CLI::App* subcommand_;
};

using Commands = std::vector<std::unique_ptr<Command>>;

}  // namespace rochound::cli
