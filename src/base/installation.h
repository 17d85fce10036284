// SPDX-License-Identifier: MIT
//
// Where the parts of rochound are: at places relative to the executable that are the same in a
// build tree and installed. Any thread.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace rochound::base {

// place: "../lib/librochound_agent.so"; what: for the message when it is not there.
Result<std::filesystem::path> FindBesideExecutable(const char* place, const std::string& what);

// Where a shell would find the program; the name itself if it would not.
std::filesystem::path FindProgram(const std::string& name);

// A program of ROCm, such as hipcc: on the PATH, or in ROCm's folder (ROCM_PATH, /opt/rocm).
Result<std::filesystem::path> FindRocmProgram(const std::string& name);

}  // namespace rochound::base
