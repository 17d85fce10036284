// SPDX-License-Identifier: MIT
#include "softgpu/tree/device_tree_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/files.h"
#include "base/hash.h"

namespace rochound::softgpu {
namespace {

namespace fs = std::filesystem;
using base::ErrnoError;
using base::Error;
using base::Result;

constexpr const char* kTemporaryPrefix = ".new-";

Result<void> MakePrivateDirectory(const fs::path& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return ErrnoError("cannot create", path, errno);
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return ErrnoError("cannot look at", path, errno);
  if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    return Error{fmt::format(
        "'{}' is not a directory that only you may enter; remove it, or set TMPDIR to a "
        "directory of your own",
        path.string())};
  }
  return {};
}

// Held until the object goes away, or the process does.
class StoreLock {
 public:
  static Result<StoreLock> Take(const fs::path& store) {
    const fs::path path = store / "lock";
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return ErrnoError("cannot open", path, errno);
    StoreLock lock(fd);
    while (flock(fd, LOCK_EX) != 0) {
      if (errno != EINTR) return ErrnoError("cannot lock", path, errno);
    }
    return lock;
  }

  StoreLock(StoreLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~StoreLock() {
    if (fd_ >= 0) close(fd_);
  }

 private:
  explicit StoreLock(int fd) : fd_(fd) {}
  int fd_;
};

bool IsComplete(const DeviceTree& tree, const fs::path& root) {
  std::error_code error;
  for (const auto& [path, content] : tree.files) {
    const auto found = base::ReadFile(root / path);
    if (!found.ok() || found.value() != content) return false;
  }
  for (const auto& [path, target] : tree.links) {
    if (fs::read_symlink(root / path, error) != target || error) return false;
  }
  for (const std::string& path : tree.directories) {
    if (!fs::is_directory(root / path, error)) return false;
  }
  return true;
}

Result<void> MakeDirectories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return ErrnoError("cannot create", path, error.value());
  return {};
}

Result<void> WriteTree(const DeviceTree& tree, const fs::path& root) {
  for (const auto& [path, content] : tree.files) {
    ROCHOUND_CHECK(MakeDirectories((root / path).parent_path()));
    ROCHOUND_CHECK(base::WriteFile(root / path, content));
  }
  for (const auto& [path, target] : tree.links) {
    ROCHOUND_CHECK(MakeDirectories((root / path).parent_path()));
    std::error_code error;
    fs::create_symlink(target, root / path, error);
    if (error) return ErrnoError("cannot create", root / path, error.value());
  }
  for (const std::string& path : tree.directories) ROCHOUND_CHECK(MakeDirectories(root / path));
  return {};
}

// What a killed process left. Only the holder of the lock makes such names, so none of them is in
// use.
void RemoveLeftovers(const fs::path& store) {
  std::error_code error;
  for (fs::directory_iterator entry(store, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().rfind(kTemporaryPrefix, 0) == 0) {
      std::error_code ignored;
      fs::remove_all(entry->path(), ignored);
    }
  }
}

bool IsWritableDirectory(const char* path) {
  std::error_code error;
  return path != nullptr && *path == '/' && fs::is_directory(path, error) &&
         access(path, W_OK | X_OK) == 0;
}

}  // namespace

fs::path DefaultTreeStore() {
  fs::path parent = "/tmp";
  for (const char* variable : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    if (const char* path = getenv(variable); IsWritableDirectory(path)) {
      parent = path;
      break;
    }
  }
  return parent / fmt::format("rochound-softgpu-{}", geteuid());
}

Result<fs::path> StoreDeviceTree(const DeviceTree& tree, const fs::path& store) {
  ROCHOUND_CHECK(MakePrivateDirectory(store));
  const fs::path root = store / tree.Hash();
  if (IsComplete(tree, root)) return root;

  ROCHOUND_TRY(const StoreLock lock, StoreLock::Take(store));
  if (IsComplete(tree, root)) return root;  // somebody else was first
  RemoveLeftovers(store);
  ROCHOUND_TRY(base::TempDir fresh, base::TempDir::Create(store, kTemporaryPrefix));
  ROCHOUND_CHECK(WriteTree(tree, fresh.path()));
  if (rename(fresh.path().c_str(), root.c_str()) == 0) {
    (void)fresh.Release();
    return root;
  }
  if (errno != ENOTEMPTY && errno != EEXIST) return ErrnoError("cannot create", root, errno);

  // A damaged tree is in the way: change places with it, so that the name is never without a tree.
  // A file system that cannot do that (NFS) leaves a moment between the two renames.
  const fs::path damaged = fresh.path().string() + ".damaged";
  const bool exchanged =
      renameat2(AT_FDCWD, fresh.path().c_str(), AT_FDCWD, root.c_str(), RENAME_EXCHANGE) == 0 ||
      (errno == EINVAL && rename(root.c_str(), damaged.c_str()) == 0 &&
       rename(fresh.path().c_str(), root.c_str()) == 0);
  if (!exchanged) return ErrnoError("cannot replace", root, errno);
  std::error_code ignored;
  fs::remove_all(damaged, ignored);
  return root;  // after an exchange the damaged tree is fresh's, and goes away with it
}

Result<fs::path> LinkInStore(const fs::path& folder, const fs::path& store) {
  ROCHOUND_CHECK(MakePrivateDirectory(store));
  const fs::path link = store / ("link-" + base::Hex64(base::Fnv1a64(folder.string())));
  std::error_code error;
  fs::create_symlink(folder, link, error);
  // Many processes may make it at once; a link that leads to this folder is theirs or an earlier
  // one.
  if (error && fs::read_symlink(link, error) != folder)
    return Error{
        fmt::format("cannot create the link '{}'; remove what has that name", link.string())};
  return link;
}

}  // namespace rochound::softgpu
