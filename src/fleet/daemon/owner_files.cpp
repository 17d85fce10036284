// SPDX-License-Identifier: MIT
#include "fleet/daemon/owner_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "launch/user_rights.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;

// Segments have 4 MB. All strings of a log are read at once when a window of it is copied.
constexpr uint64_t kMostBytes = uint64_t{128} << 20;

base::Error NotTheirs(const fs::path& path) {
  return base::Error{"'" + path.string() + "' is not a file of the log's owner"};
}

bool BelongsTo(int fd, uid_t user) {
  struct stat status{};
  return fstat(fd, &status) == 0 && status.st_uid == user;
}

}  // namespace

std::optional<uid_t> OwnerOf(const fs::path& log) {
  struct stat status{};
  if (lstat(log.c_str(), &status) != 0) return std::nullopt;
  return status.st_uid;
}

trace::OpenFile OpenerOf(const fs::path& log) {
  return [log](const fs::path& path, uint64_t* size) -> base::Result<int> {
    const auto owner = OwnerOf(log);
    if (!owner) return NotTheirs(path);
    uint64_t bytes = 0;
    auto opened = base::OpenRegularFile(path, &bytes);
    if (!opened.ok()) return opened;
    if (size != nullptr) *size = bytes;
    const bool theirs = *owner == geteuid() || BelongsTo(opened.value(), *owner);
    if (theirs && bytes <= kMostBytes) return opened;
    close(opened.value());
    if (theirs) return base::Error{"'" + path.string() + "' is larger than recorders make them"};
    return NotTheirs(path);
  };
}

base::Result<int> OpenNamedFile(const fs::path& log, const fs::path& path, uint64_t* size) {
  const auto owner = OwnerOf(log);
  if (!owner) return NotTheirs(path);
  auto own = base::OpenRegularFile(path, size);
  if (!own.ok() || *owner == geteuid() || BelongsTo(own.value(), *owner)) return own;
  close(own.value());
  // Not by the file's mode: it may be in a folder that is closed, or in /proc.
  base::Result<int> opened = NotTheirs(path);
  ROCHOUND_CHECK(
      launch::WithoutCapabilities(*owner, [&] { opened = base::OpenRegularFile(path, size); }));
  // What everybody may read is not the daemon's own.
  if (!opened.ok() || launch::HasOtherRights(*owner) || !BelongsTo(opened.value(), geteuid()))
    return opened;
  close(opened.value());
  return NotTheirs(path);
}

}  // namespace rochound::fleet
