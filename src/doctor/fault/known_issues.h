// SPDX-License-Identifier: MIT
//
// Faults that others have met, by GPU, ROCm release and kernel: a table of data with its sources. A
// row is a hint, never a proof. Constant; any thread.
#pragma once

#include <string>
#include <vector>

namespace rochound::doctor {

struct KnownIssue {
  const char* targets;  // starts of target names, separated by spaces
  unsigned since;       // ROCm release, 602 for 6.2; 0: any
  unsigned until;       // the first release that does not have it; 0: not known
  const char* cause;    // as FaultExplanation::cause
  const char* kernel;   // part of the kernel's name; "": any
  const char* what;
  const char* advice;
  const char* source;
};

// `rocm`: 702 for 7.2; 0: not known, and then no row is left out for it.
std::vector<KnownIssue> FindKnownIssues(const std::string& target, unsigned rocm,
                                        const std::string& cause, const std::string& kernel);

// The release of HIP in a process, from its mappings; 0: not there.
unsigned RocmRelease(const std::string& maps);

}  // namespace rochound::doctor
