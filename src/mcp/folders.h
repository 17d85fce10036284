// SPDX-License-Identifier: MIT
//
// The folders that tools may read and write in, and the paths that clients name. A path is taken
// relative to the first folder, symbolic links are resolved, and what is outside of all folders is
// refused. Any thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace rochound::mcp {

class Folders {
 public:
  // At least one; they must be there.
  static base::Result<Folders> Open(const std::vector<std::string>& folders);

  // Something that is there.
  base::Result<std::filesystem::path> Existing(const std::string& path) const;
  // Something that is to be made; its folder is there.
  base::Result<std::filesystem::path> New(const std::string& path) const;

  const std::vector<std::filesystem::path>& all() const { return folders_; }
  const std::filesystem::path& first() const { return folders_.front(); }

 private:
  base::Result<std::filesystem::path> Inside(const std::string& path,
                                             const std::filesystem::path& resolved) const;

  std::vector<std::filesystem::path> folders_;  // absolute, without links
};

}  // namespace rochound::mcp
