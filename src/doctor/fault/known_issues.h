// SPDX-License-Identifier: MIT
//
// Faults that others have met, by GPU: a table of data with its sources. A row is a hint, never a
// proof. Constant; any thread.
#pragma once

#include <string>
#include <vector>

namespace rochound::doctor {

struct KnownIssue {
  const char* targets;  // starts of target names, separated by spaces
  const char* cause;    // as FaultExplanation::cause
  const char* kernel;   // part of the kernel's name; "": any
  const char* what;
  const char* advice;
  const char* source;
};

std::vector<KnownIssue> FindKnownIssues(const std::string& target, const std::string& cause,
                                        const std::string& kernel);

}  // namespace rochound::doctor
