// SPDX-License-Identifier: MIT
//
// Where the parts of rochound are: at places relative to the executable that are the same in a
// build tree and installed. Any thread.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace rochound::cli {

// place: "../lib/librochound_agent.so"; what: for the message when it is not there.
base::Result<std::filesystem::path> FindBesideExecutable(const char* place,
                                                         const std::string& what);

// Where a shell would find the program; the name itself if it would not.
std::filesystem::path FindProgram(const std::string& name);

// A program of ROCm, such as hipcc: on the PATH, or in ROCm's folder (ROCM_PATH, /opt/rocm).
base::Result<std::filesystem::path> FindRocmProgram(const std::string& name);

// Whether the ELF library exports this symbol to the dynamic loader. False also for what is no
// library.
bool ExportsSymbol(const std::filesystem::path& library, const std::string& symbol);

}  // namespace rochound::cli
