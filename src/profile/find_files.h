// SPDX-License-Identifier: MIT
//
// The files that are meant when somebody names a folder of a profiler's output. Offline; any
// thread.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rochound::profile {

// Whether a file of this name is of one kind.
using FileKind = std::function<bool(std::string_view name)>;

// A path that is no folder stands for itself. Kinds say the same in different ways, the best first:
// of all files below a folder, those of the first kind that is there, sorted. nothing: what the
// folder does not hold, and what writes it, for the error.
base::Result<std::vector<std::filesystem::path>> FindFiles(const std::filesystem::path& path,
                                                           const std::vector<FileKind>& kinds,
                                                           std::string_view nothing);

}  // namespace rochound::profile
