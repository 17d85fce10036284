// SPDX-License-Identifier: MIT
//
// What `rochound profile` and `rochound probe -a report` wrote, as parts of the report: their files
// go into the page as they are, after a look at what they call themselves. The page knows their
// fields (docs/formats/profile.md, docs/formats/probe-report.md).
// Offline; one thread.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace rochound::report {

// A JSON object {"roofline": ..., "analysis": ..., "thread_trace": ...}; null for a file that is
// not there. An error if there is none, or one of another format or version.
base::Result<std::string> ReadProfile(const std::filesystem::path& folder);

// A JSON object. An error if it is something else than rochound probe -a report wrote.
base::Result<std::string> ReadProbe(const std::filesystem::path& file);

}  // namespace rochound::report
