// SPDX-License-Identifier: MIT
//
// Whether this user, in this container if it is one, may use the GPU: the driver, its device files,
// groups, boot parameters. Any thread.
#pragma once

#include <vector>

#include "doctor/finding.h"
#include "doctor/machine_facts.h"

namespace rochound::doctor {

struct User {
  unsigned uid = 0;
  std::vector<unsigned> groups;
};

// Who asks; of a copy, from its file "user" (lines "uid N" and "groups N...").
User ReadUser(const Sysroot& root);

void JudgeDriver(const Machine& machine, Report* report);
void JudgeAccess(const Machine& machine, const User& user, Report* report);
// Kernel parameters: those that are set and what they do, and those that traps are made of.
void JudgeBootParameters(const Machine& machine, Report* report);

}  // namespace rochound::doctor
