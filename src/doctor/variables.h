// SPDX-License-Identifier: MIT
//
// Environment variables of ROCm: whether the libraries that are installed here read them at all
// (their names are in the library, or they do not), and which of them contradict each other or
// the machine. Any thread.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/finding.h"
#include "doctor/machine_facts.h"

namespace rochound::doctor {

enum class Reads { kNo, kPerhaps, kYes };

// Whether code with these bytes reads this variable. kYes: the name is there as a text of its
// own. kPerhaps: it was put into the instructions in pieces, as compilers do with short ones.
Reads ReadsVariable(std::string_view library, const std::string& name);

// Texts that look like variables of ROCm.
std::set<std::string> VariablesIn(std::string_view library);

// gfx1030 for HSA_OVERRIDE_GFX_VERSION=10.3.0; empty: not set, or not understood.
std::string OverriddenTarget(const Environment& environment);

// libraries: files of the runtimes that would be loaded, as paths of the machine.
void JudgeVariables(const Machine& machine, const std::vector<std::string>& libraries,
                    Report* report);

}  // namespace rochound::doctor
