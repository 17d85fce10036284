// SPDX-License-Identifier: MIT
#include "base/files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

namespace rochound::base {
namespace {

namespace fs = std::filesystem;

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

  // Closes now; false with errno set when the last data could not be written (a full NFS or quota).
  bool Close() { return close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

Result<void> WriteAll(FileDescriptor& file, const fs::path& path, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(file.get(), content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return ErrnoError("cannot write", path, errno);
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
  if (!file.Close()) return ErrnoError("cannot write", path, errno);
  return {};
}

}  // namespace

Error ErrnoError(std::string_view what, const fs::path& path, int error_number) {
  return Error{std::string(what) + " '" + path.string() +
               "': " + std::generic_category().message(error_number)};
}

Result<int> OpenRegularFile(const fs::path& path, uint64_t* size) {
  const Error not_regular{"'" + path.string() + "' is not a regular file"};
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return ErrnoError("cannot open", path, errno);
  if (!S_ISREG(status.st_mode)) return not_regular;
  // Something else may be there by now; then it does not keep us waiting.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return ErrnoError("cannot open", path, errno);
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return not_regular;
  }
  if (size != nullptr) *size = static_cast<uint64_t>(status.st_size);
  return fd;
}

Result<std::string> ReadFile(const fs::path& path, uint64_t most) {
  ROCHOUND_TRY(const int fd, OpenRegularFile(path));
  return ReadOpenFile(fd, path, most);
}

Result<std::string> ReadOpenFile(int fd, const fs::path& path, uint64_t most) {
  const FileDescriptor file(fd);
  const Error too_large{"'" + path.string() + "' has more than the " + std::to_string(most) +
                        " bytes that are read of such a file"};
  struct stat status{};
  if (fstat(fd, &status) != 0) return ErrnoError("cannot read", path, errno);
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size > most) return too_large;
  // Not by the file's size: files in /proc and /sys say 0 or 4096.
  std::string content;
  content.reserve(size);
  char buffer[16384];
  for (;;) {
    const ssize_t got = read(file.get(), buffer, sizeof(buffer));
    if (got == 0) return content;
    if (got > 0) {
      if (static_cast<uint64_t>(got) > most - content.size()) return too_large;
      content.append(buffer, static_cast<size_t>(got));
    } else if (errno != EINTR) {
      return ErrnoError("cannot read", path, errno);
    }
  }
}

Result<void> WriteFile(const fs::path& path, std::string_view content) {
  FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) return ErrnoError("cannot create", path, errno);
  return WriteAll(file, path, content);
}

Result<void> CheckReplaceable(const fs::path& path) {
  std::error_code error;
  if (!fs::is_other(path, error)) return {};
  return Error{"'" + path.string() + "' is a device or a pipe, which a file cannot replace"};
}

Result<void> WriteFileAtomically(const fs::path& path, std::string_view content) {
  if (!CheckReplaceable(path).ok()) return WriteFile(path, content);
  // Not mkstemp: the file shall have the mode that the user's umask gives, as any other.
  static std::atomic<unsigned> counter{0};
  const fs::path temporary =
      path.string() + "." + std::to_string(getpid()) + "-" + std::to_string(++counter) + ".tmp";
  FileDescriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) return ErrnoError("cannot create", path, errno);
  Result<void> written = WriteAll(file, temporary, content);
  if (written.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    written = ErrnoError("cannot replace", path, errno);
  }
  if (!written.ok()) unlink(temporary.c_str());
  return written;
}

Result<fs::path> ExecutablePath() {
  std::error_code error;
  fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (!error) return path;
  const char* started_as = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (started_as != nullptr) {
    path = fs::canonical(started_as, error);
    if (!error) return path;
  }
  return Error{"cannot find out where this program's file is; mount /proc"};
}

Result<TempDir> TempDir::Create(const fs::path& parent, const std::string& prefix) {
  std::string name = (parent / (prefix + "XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr)
    return ErrnoError("cannot create a directory in", parent, errno);
  return TempDir(fs::path(name));
}

TempDir::TempDir(TempDir&& other) noexcept : path_(other.Release()) {}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TempDir::~TempDir() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path TempDir::Release() { return std::exchange(path_, fs::path()); }

}  // namespace rochound::base
