// SPDX-License-Identifier: MIT
//
// Libraries that bring kernels as files of their own (rocBLAS, hipBLASLt, MIOpen): which targets
// they have, by the names of the files in their folders. Any thread.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "doctor/finding.h"
#include "doctor/machine_facts.h"
#include "doctor/sysroot.h"

namespace rochound::doctor {

struct KernelLibrary {
  std::string name;  // rocBLAS
  std::string folder;
  std::set<std::string> targets;
  bool compiles = false;  // what it lacks it compiles when it is needed
};

// Only those that are installed. `environment`: variables that name another folder.
std::vector<KernelLibrary> FindKernelLibraries(const Sysroot& root, const Environment& environment);

// Those without kernels for this target, in any of their folders.
std::vector<const KernelLibrary*> LibrariesWithout(const std::vector<KernelLibrary>& libraries,
                                                   const std::string& target);
// That a library has none, as a sentence.
std::string LacksTarget(const KernelLibrary& library, const std::string& target);

// What the GPUs of this machine lack.
void JudgeKernelLibraries(const Machine& machine, Report* report);

}  // namespace rochound::doctor
