// SPDX-License-Identifier: MIT
//
// The part of `rochound profile` that measures what this machine's GPU can do at most: compiles the
// program of src/profile/peaks for it and runs it. Called on main's thread; needs hipcc.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace rochound::profile {

// Writes peaks.json into the folder, and returns the page for a terminal.
base::Result<std::string> MeasurePeaks(const std::filesystem::path& folder);

}  // namespace rochound::profile
