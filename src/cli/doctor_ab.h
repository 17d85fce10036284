// SPDX-License-Identifier: MIT
//
// `rochound doctor ab`: runs a program under one setting after the other and says which help; and
// `rochound doctor apply` and `undo`, which keep one. Parts of the doctor command, on main's
// thread.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "doctor/outcome.h"

namespace rochound::cli {

class DoctorAb {
 public:
  explicit DoctorAb(CLI::App& doctor);

  bool Chosen() const { return subcommand_->parsed(); }
  const char* examples() const;
  int Run(const std::vector<std::string>& program);

 private:
  // Runs what seems to matter again, until it does or does not. `attempt` runs one row once; false:
  // the program cannot be started.
  bool Confirm(std::vector<doctor::Row>* rows,
               const std::function<bool(doctor::Row*)>& attempt) const;

  CLI::App* subcommand_;
  std::string matrix_;
  std::string keep_;
  double limit_ = 300;
  unsigned repeat_ = 1;
  unsigned confirm_ = 8;
  bool json_ = false;
  bool list_ = false;
  std::vector<std::string> stray_;
};

class DoctorProfile {
 public:
  explicit DoctorProfile(CLI::App& doctor);

  bool Chosen() const { return apply_->parsed() || undo_->parsed(); }
  const char* examples() const;
  int Run();

 private:
  int ApplyProfile() const;
  int UndoProfile() const;
  std::string Place() const;

  CLI::App* apply_;
  CLI::App* undo_;
  std::string name_;
  std::string matrix_;
  std::string to_;
  bool yes_ = false;
};

}  // namespace rochound::cli
