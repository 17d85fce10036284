// SPDX-License-Identifier: MIT
//
// The part of `rochound profile` that runs a program under rocprofv3, once for each pass of
// counters. Called on main's thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace rochound::profile {

struct RocprofRun {
  std::vector<std::filesystem::path> folders;  // one for each pass
  int status = 0;                              // of the last run, as waitpid says it
};

// kernel: only those that match; empty: all. Stops at the first pass whose run does not end with 0.
base::Result<RocprofRun> RunRocprof(const std::vector<std::vector<std::string>>& passes,
                                    const std::string& kernel, const std::filesystem::path& folder,
                                    const std::vector<std::string>& program);

}  // namespace rochound::profile
