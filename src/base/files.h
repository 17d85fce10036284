// SPDX-License-Identifier: MIT
//
// Whole files at once, and the places a program knows about itself. For offline code and set-up,
// any thread. Paths are taken as they are; errors name the path and the system's reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rochound::base {

// "what 'path': reason of errno", the form of every error here.
Error ErrnoError(std::string_view what, const std::filesystem::path& path, int error_number);

// A descriptor (close-on-exec, yours to close) to read a regular file, and its size if wanted.
// Everything else is refused untouched: a FIFO would keep us waiting, a device may never end.
// Symbolic links are followed.
Result<int> OpenRegularFile(const std::filesystem::path& path, uint64_t* size = nullptr);

// A regular file of at most so many bytes; of a text that somebody else may have written, kMostText
// are more than enough.
constexpr uint64_t kMostFile = uint64_t{4} << 30;
constexpr uint64_t kMostText = uint64_t{256} << 20;
Result<std::string> ReadFile(const std::filesystem::path& path, uint64_t most = kMostFile);
// The same of a descriptor of that file, which is closed.
Result<std::string> ReadOpenFile(int fd, const std::filesystem::path& path, uint64_t most);

// Creates or replaces the file; a reader may see it half written.
Result<void> WriteFile(const std::filesystem::path& path, std::string_view content);

// An error where a file is to be renamed to this place and a device or a pipe is there: /dev/null
// would be gone.
Result<void> CheckReplaceable(const std::filesystem::path& path);

// Writes beside the file and renames, so that a reader sees the old content or the new, never a
// part. A device or a pipe gets the content itself.
Result<void> WriteFileAtomically(const std::filesystem::path& path, std::string_view content);

// The running program's file, with symbolic links resolved; works without /proc too.
Result<std::filesystem::path> ExecutablePath();

// A fresh directory with mode 0700 inside parent, removed with all its content when the object goes
// away.
class TempDir {
 public:
  static Result<TempDir> Create(const std::filesystem::path& parent, const std::string& prefix);

  TempDir(TempDir&& other) noexcept;
  TempDir& operator=(TempDir&& other) noexcept;
  ~TempDir();

  const std::filesystem::path& path() const { return path_; }

  // The directory is somebody else's from now on (or was renamed) and is not removed.
  std::filesystem::path Release();

 private:
  explicit TempDir(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;  // empty: nothing to remove
};

}  // namespace rochound::base
