// SPDX-License-Identifier: MIT
//
// `rochound ctl`: starts, stops and asks recorders of running processes through their control
// sockets. Called once by main on its only thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/command.h"
#include "launch/control_client.h"

namespace rochound::cli {

class CtlCommand final : public Command {
 public:
  // Adds the subcommand and its options to app; *this must outlive the parsing.
  explicit CtlCommand(CLI::App& app);

  const char* examples() const override;
  std::vector<Action> actions() const override;

  // The exit code.
  int Run(const std::vector<std::string>& program) override;

 private:
  // A process that is asked, with its answer.
  struct Row {
    pid_t process = 0;
    launch::ControlSocket socket = {};
    launch::ControlAnswer answer = {};
    bool log_read = false;
    uint64_t records = 0;
    std::map<std::string, uint64_t> kinds = {};  // of record -> how many
  };

  std::string Problem() const;  // with the command line; empty: none
  std::vector<Row> Targets() const;
  static void ReadLog(Row* row);
  int WriteTrace(const std::vector<Row>& rows) const;
  void Print(const std::vector<Row>& rows) const;
  void PrintTable(const std::vector<Row>& rows) const;
  void PrintEffect(const Row& row) const;
  void PrintJson(const std::vector<Row>& rows) const;

  std::string action_;
  std::vector<pid_t> processes_;
  std::vector<pid_t> trees_;
  std::string output_;  // of dump
  bool all_ = false;
  bool json_ = false;
};

}  // namespace rochound::cli
