// SPDX-License-Identifier: MIT
//
// Runs rochound-replay, a process of its own so that a kernel that faults or hangs takes only that
// with it, and collects its answer. Called by `rochound replay` on its only thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/replay/verdict.h"

namespace rochound::launch {

struct ReplayAnswer {
  nlohmann::ordered_json answer;  // with "verdict" and "notes" in any case
  std::string launching;          // the build of the kernel that was launched last; empty: none
};

// arguments: as rochound-replay takes them, from the mode on. softgpu: GPUs, or empty. An error
// only where it cannot be started; a process that dies without an answer gets one from its end.
// quiet: without its standard error, since a fault is nothing that people have to know of.
base::Result<ReplayAnswer> RunReplay(const std::vector<std::string>& arguments,
                                     const std::string& softgpu, bool quiet = false);

// Of an answer, or of one of its candidates.
capture::replay::Verdict VerdictOf(const nlohmann::ordered_json& json);

}  // namespace rochound::launch
