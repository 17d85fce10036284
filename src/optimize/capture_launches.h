// SPDX-License-Identifier: MIT
//
// What `rochound optimize` does before it judges: records the program once, chooses a kernel and
// launches of it by the times in that trace (optimize/launches.h), and captures them, each in a
// run of its own. The choice is kept in the folder (launches.json), and so are the bundles: a run
// that goes on uses them. Starts processes; one thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/limited_run.h"
#include "optimize/journal.h"
#include "optimize/launches.h"

namespace rochound::optimize {

struct LaunchTask {
  std::filesystem::path folder;  // of the search
  std::string kernel;            // a pattern; empty: the kernel with most of the critical path
  std::string softgpu;
  std::vector<std::string> program;
  Journal* journal = nullptr;
};

struct CapturedLaunches {
  std::string kernel;                                 // its symbol
  std::vector<std::filesystem::path> seen, held_out;  // bundles
  std::string seen_key, first_key, held_out_key;      // which launches they are, for journals
};

base::Result<CapturedLaunches> CaptureLaunches(const LaunchTask& task);

// A command of ours, or the program, with all variables and a generous limit.
base::Result<launch::LimitedRun> RunToEnd(const std::vector<std::string>& command);

}  // namespace rochound::optimize
