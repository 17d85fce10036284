// SPDX-License-Identifier: MIT
//
// What `rochound profile` wrote, as a part of the report: its files go into the page as they are,
// after a look at what they call themselves. The page knows their fields (docs/formats/profile.md).
// Offline; one thread.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace rochound::report {

// A JSON object {"roofline": ..., "analysis": ..., "thread_trace": ...}; null for a file that is
// not there. An error if there is none, or one of another format or version.
base::Result<std::string> ReadProfile(const std::filesystem::path& folder);

}  // namespace rochound::report
