// SPDX-License-Identifier: MIT
//
// What the commands that run a program with the agent in it have in common. Called on main's only
// thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/gpu_use.h"
#include "launch/run_environment.h"

namespace rochound::launch {

// Finds the agent and makes the folder for the log: the one asked for, or a temporary one beside
// the output, since that is where there is room, and where somebody looks for what a killed run
// left.
base::Result<void> PrepareLog(const std::string& asked, const std::filesystem::path& output,
                              Recording* recording);

// The command that runs the program on software GPUs; the program itself if none are named.
base::Result<std::vector<std::string>> OnSoftwareGpu(const std::string& gpus,
                                                     const std::vector<std::string>& program);

// Says why a program could not be started; the exit code that tells it.
int CannotStart(const base::Error& error, int error_number);

// Why the agent was not loaded. unrecorded: processes that were seen to use a GPU; status: how the
// program ended.
std::string WhyNothing(const std::vector<std::string>& program, int status,
                       const std::vector<UnrecordedProcess>& unrecorded);

}  // namespace rochound::launch
