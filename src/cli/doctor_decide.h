// SPDX-License-Identifier: MIT
//
// `rochound doctor decide`: runs a program again with one kernel at a time and says which one
// fails, for faults that leave several suspects. Part of the doctor command, on main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace rochound::cli {

class DoctorDecide {
 public:
  explicit DoctorDecide(CLI::App& doctor);

  bool Chosen() const { return subcommand_->parsed(); }
  const char* examples() const;
  int Run(const std::vector<std::string>& program);

 private:
  CLI::App* subcommand_;
  std::string output_;
  double limit_ = 600;
  bool json_ = false;
  std::vector<std::string> stray_;
};

}  // namespace rochound::cli
