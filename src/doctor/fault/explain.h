// SPDX-License-Identifier: MIT
//
// Explains why a GPU failed, from what the agent wrote down at that moment (fault.json and the code
// objects beside it): which kernel, which argument, what was wrong with it, and what to do.
// Offline, any thread; a record may be damaged, and is then refused. What is guessed is called a
// guess.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace rochound::doctor {

struct FaultExplanation {
  // out_of_bounds, use_after_free, null_pointer, host_memory, no_access, bad_kernarg, wrong_isa,
  // illegal_instruction, aperture, trap, out_of_resources, hang, unknown
  std::string cause;
  bool sure = false;     // otherwise the likeliest explanation
  std::string headline;  // one sentence
  std::string kernel;    // symbol; empty: none is under suspicion
  int argument = -1;     // explicit argument, from 0; -1: none is to blame
  std::vector<std::string> evidence;
  std::vector<std::string> advice;
};

// `path`: the record, a folder with one, or a folder with a run's log.
base::Result<FaultExplanation> ExplainFault(const std::filesystem::path& path);

// The records below a folder; a run has one per process that failed.
std::vector<std::filesystem::path> FindFaults(const std::filesystem::path& folder);

// For a terminal, and for machines.
std::string FaultText(const FaultExplanation& explanation);
std::string FaultJson(const FaultExplanation& explanation);

}  // namespace rochound::doctor
