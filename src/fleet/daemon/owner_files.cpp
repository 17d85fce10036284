// SPDX-License-Identifier: MIT
#include "fleet/daemon/owner_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "launch/user_rights.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;

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
    auto opened = base::OpenRegularFile(path, size);
    if (!opened.ok() || *owner == geteuid() || BelongsTo(opened.value(), *owner)) return opened;
    close(opened.value());
    return NotTheirs(path);
  };
}

base::Result<int> OpenNamedFile(const fs::path& log, const fs::path& path, uint64_t* size) {
  auto own = OpenerOf(log)(path, size);
  const auto owner = OwnerOf(log);
  if (own.ok() || !owner) return own;
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
