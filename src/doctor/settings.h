// SPDX-License-Identifier: MIT
//
// Settings that are tried on a program one after the other (`rochound doctor ab`) or kept
// (`rochound doctor apply`): named sets of environment variables, built in or from a file. Any
// thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "doctor/machine_facts.h"

namespace rochound::doctor {

struct Setting {
  std::string name;
  // A variable without a value is taken out of the environment.
  std::vector<std::pair<std::string, std::optional<std::string>>> variables;
  std::string about;  // what it does, in words

  // "HSA_ENABLE_SDMA=0 -HSA_XNACK"; "as it is" if empty.
  std::string Text() const;
  void ApplyTo(Environment* environment) const;
};

// The first is the program as it is. Chosen for the GPUs here; without one, everything.
std::vector<Setting> BuiltInSettings(const Machine& machine);

// Lines "name: VARIABLE=value -VARIABLE ...", the name may be left out; # starts a comment. The
// program as it is is tried first in any case.
base::Result<std::vector<Setting>> ParseSettings(const std::string& text);

// A kernel boot parameter that cannot be tried from here. Only ever suggested.
struct BootSuggestion {
  std::string parameter;
  std::string about;
  std::string sure;  // how sure we are
};
struct BootAdvice {
  std::vector<BootSuggestion> parameters;
  // The line of /etc/default/grub with all of them added; empty where there is no such file.
  std::string grub_line;
};
BootAdvice AdviseBootParameters(const Machine& machine);

}  // namespace rochound::doctor
