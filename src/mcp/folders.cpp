// SPDX-License-Identifier: MIT
#include "mcp/folders.h"

#include <algorithm>
#include <system_error>

#include "base/files.h"

namespace rochound::mcp {

namespace fs = std::filesystem;
using base::Error;
using base::Result;

namespace {

Error Outside(const std::string& path) {
  return Error{"'" + path + "' is outside of the folders that rochound mcp --folder allows"};
}

}  // namespace

Result<Folders> Folders::Open(const std::vector<std::string>& folders) {
  Folders opened;
  for (const std::string& folder : folders) {
    std::error_code error;
    const fs::path path = fs::canonical(folder, error);
    if (error) return base::ErrnoError("cannot use the folder", folder, error.value());
    if (!fs::is_directory(path, error)) return Error{"'" + folder + "' is no folder"};
    opened.folders_.push_back(path);
  }
  if (opened.folders_.empty()) return Error{"no folder is named"};
  return opened;
}

Result<fs::path> Folders::Inside(const std::string& path, const fs::path& resolved) const {
  for (const fs::path& folder : folders_) {
    const auto end = std::mismatch(folder.begin(), folder.end(), resolved.begin(), resolved.end());
    if (end.first == folder.end()) return resolved;
  }
  return Outside(path);
}

Result<fs::path> Folders::Existing(const std::string& path) const {
  std::error_code error;
  const fs::path resolved = fs::canonical(first() / path, error);
  if (!error) return Inside(path, resolved);
  // Of what is outside, not even its existence is reported.
  const fs::path as_far = fs::weakly_canonical(first() / path, error);
  return error || !Inside(path, as_far).ok() ? Outside(path) : Error{"there is no '" + path + "'"};
}

Result<fs::path> Folders::New(const std::string& path) const {
  fs::path wanted = (first() / path).lexically_normal();
  if (!wanted.has_filename()) wanted = wanted.parent_path();  // "results/"
  const fs::path name = wanted.filename();
  if (name.empty() || name == "." || name == "..") return Error{"'" + path + "' names no file"};
  std::error_code error;
  const fs::path folder = fs::canonical(wanted.parent_path(), error);
  if (error) {
    const fs::path as_far = fs::weakly_canonical(wanted.parent_path(), error);
    return error || !Inside(path, as_far).ok() ? Outside(path)
                                               : Error{"the folder of '" + path + "' is not there"};
  }
  if (!Inside(path, folder).ok()) return Outside(path);
  // What is there already may be a link to somewhere else.
  if (fs::is_symlink(fs::symlink_status(folder / name, error))) return Existing(path);
  return folder / name;
}

}  // namespace rochound::mcp
