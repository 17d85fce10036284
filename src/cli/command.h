// SPDX-License-Identifier: MIT
//
// A subcommand of rochound: adds itself to the command line when it is made, and runs when it was
// chosen. Owned by main, which uses one thread.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
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
  // What --help prints: about one action alone where the command line names one.
  std::string Help(const CLI::App& app);
  // Everything that can be typed for this command, for pages, man pages and completion.
  nlohmann::ordered_json Reference() const;
  // The exit code. program: what followed --.
  virtual int Run(const std::vector<std::string>& program) = 0;

 protected:
  // One of the things that a command can do, named by its positional argument "action".
  struct Action {
    const char* name;
    const char* usage;
    const char* about;
    std::vector<std::string> options;  // those that this action reads
  };

  explicit Command(CLI::App* subcommand) : subcommand_(subcommand) {}

  // For the end of --help.
  virtual const char* examples() const = 0;
  virtual std::vector<Action> actions() const { return {}; }
  // The end of the help of a subcommand of this command.
  virtual const char* ExamplesOf(const std::string& /*nested*/) const { return ""; }

  // What is wrong with -o OUTPUT, asked before anything is done for it; empty: nothing.
  static std::string OutputProblem(const std::filesystem::path& output);
  // Says what is wrong with the command line; the exit code for it.
  int Usage(const std::string& problem) const;

  CLI::App* subcommand_;
};

using Commands = std::vector<std::unique_ptr<Command>>;

}  // namespace rochound::cli
