// SPDX-License-Identifier: MIT
//
// `rochound doctor`: what is this GPU, what is around it, and what is wrong with either. See
// command.h.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/doctor_ab.h"
#include "cli/doctor_decide.h"
#include "doctor/finding.h"
#include "doctor/machine_facts.h"

namespace rochound::cli {

class DoctorCommand : public Command {
 public:
  explicit DoctorCommand(CLI::App& app);

  const char* examples() const override;
  const char* ExamplesOf(const std::string& nested) const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  int ExplainFault() const;
  int CopyMachine(const doctor::Machine& machine) const;
  int ExplainHang() const;
  int JudgeRecordedRun() const;
  // Looks at what followed --, or at --python; false: wrong usage, and it was said.
  bool LookAtProgram(const std::vector<std::string>& program, const doctor::Machine& machine,
                     doctor::Report* report) const;
  int Print(const doctor::Report& report) const;

  DoctorAb ab_;
  DoctorDecide decide_;
  DoctorProfile profile_;
  std::string root_ = "/";
  std::string copy_;
  std::string python_;
  std::string fault_;
  int hang_ = 0;  // process
  std::string ran_;
  double limit_ = 20;
  bool json_ = false;
  bool all_ = false;
  bool files_only_ = false;
  std::vector<std::string> stray_;
};

}  // namespace rochound::cli
