// SPDX-License-Identifier: MIT
//
// A copy of what the doctor reads about a machine's GPUs, for `rochound doctor --root` elsewhere:
// small text files of /sys and /proc, the answers of the runtimes, and nothing about the people who
// use it. Only what is listed here is taken; serial numbers, names of users and hosts, their
// folders and other variables stay behind. Libraries are not copied. Called by the command line
// after everything was asked; one thread.
#pragma once

#include <map>
#include <string>

#include "doctor/access.h"
#include "doctor/machine_facts.h"

namespace rochound::doctor {

// Path below the copy's folder -> content.
using MachineCopy = std::map<std::string, std::string>;

MachineCopy CopyMachine(const Machine& machine, const User& user);

// A text with the folders of users replaced by ~, and identities of GPUs by one of no GPU.
std::string WithoutPeople(std::string text, const Environment& environment);

}  // namespace rochound::doctor
