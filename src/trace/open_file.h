// SPDX-License-Identifier: MIT
//
// How readers open the files of a log. Who may read more than the log's owner gives them a function
// that opens no more than the owner might; all others use base::OpenRegularFile. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/files.h"
#include "base/result.h"

namespace rochound::trace {

// A descriptor of a regular file, and its size if wanted, as of base::OpenRegularFile.
using OpenFile =
    std::function<base::Result<int>(const std::filesystem::path& path, uint64_t* size)>;

inline base::Result<std::string> ReadFileBy(const OpenFile& open, const std::filesystem::path& path,
                                            uint64_t most) {
  ROCHOUND_TRY(const int fd, open(path, nullptr));
  return base::ReadOpenFile(fd, path, most);
}

}  // namespace rochound::trace
