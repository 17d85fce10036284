// SPDX-License-Identifier: MIT
//
// The part of `rochound profile` that asks a trace: dag.json and the page that belongs to it. A
// rochound without DuckDB says that it cannot. Called on main's thread.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "profile/bottleneck_file.h"

namespace rochound::cli {

struct ProfileDag {
  std::string json, page;
  profile::Worths worths;  // of all kernels
};
// kernel: only these are ranked, a regular expression that is known to be one; empty: all.
base::Result<ProfileDag> MakeProfileDag(const std::filesystem::path& trace,
                                        const std::string& kernel);

}  // namespace rochound::cli
