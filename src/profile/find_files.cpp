// SPDX-License-Identifier: MIT
#include "profile/find_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"

namespace rochound::profile {

namespace fs = std::filesystem;

base::Result<std::vector<fs::path>> FindFiles(const fs::path& path,
                                              const std::vector<FileKind>& kinds,
                                              std::string_view nothing) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<fs::path>{path};
  std::vector<std::vector<fs::path>> found(kinds.size());
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    for (size_t kind = 0; kind < kinds.size(); ++kind)
      if (kinds[kind](name)) found[kind].push_back(entry->path());
  }
  if (error) return base::ErrnoError("cannot read", path, error.value());
  for (std::vector<fs::path>& files : found) {
    if (files.empty()) continue;
    std::sort(files.begin(), files.end());
    return files;
  }
  return base::Error{fmt::format("{} holds no {}", path.string(), nothing)};
}

}  // namespace rochound::profile
