// SPDX-License-Identifier: MIT
//
// How the agent of `rochound run` gets into a program on this machine, told before a run: it
// depends on how ROCr was built, and on variables that other profilers leave behind. Looks at files
// and the environment, loads nothing. Any thread. docs/how-it-loads.md has all ways.
#pragma once

#include <string>

#include "doctor/finding.h"
#include "doctor/libraries.h"
#include "doctor/machine_facts.h"

namespace rochound::doctor {

// program: a path whose own libraries decide; empty: what the loader finds for any program.
void JudgeWayIn(const Machine& machine, const Loader& loader, const std::string& program,
                Report* report);

}  // namespace rochound::doctor
