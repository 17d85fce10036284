// SPDX-License-Identifier: MIT
//
// The daemon may read everybody's files. A log says which ones it is to read, and belongs to a user
// who may not: these functions open what the log's owner might. Any thread; what is refused is an
// Error.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/result.h"
#include "trace/open_file.h"

namespace rochound::fleet {

// Of the log's folder itself, also where it is a link; nothing: it is gone.
std::optional<uid_t> OwnerOf(const std::filesystem::path& log);

// Opens files of the log: regular ones that belong to the log's owner, wherever links lead, and are
// not too large to be a recorder's.
trace::OpenFile OpenerOf(const std::filesystem::path& log);

// Opens a file that the log names: one that belongs to the log's owner, or that everybody may read.
base::Result<int> OpenNamedFile(const std::filesystem::path& log, const std::filesystem::path& path,
                                uint64_t* size);

}  // namespace rochound::fleet
