// SPDX-License-Identifier: MIT
#include "capture/bundle_directory.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <ctime>
#include <utility>

#include "base/check.h"
#include "base/file_limit.h"
#include "capture/checksum.h"

namespace rochound::capture {
namespace {

constexpr const char* kUnfinishedChecksums = "checksums.partial";

// Keeps a write past the file size limit from ending the program by SIGXFSZ.
class FileSizeSignalHeld {
 public:
  FileSizeSignalHeld() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  FileSizeSignalHeld(const FileSizeSignalHeld&) = delete;
  FileSizeSignalHeld& operator=(const FileSizeSignalHeld&) = delete;
  ~FileSizeSignalHeld() {
    const int error = errno;
    if (error == EFBIG) {
      const timespec now{};
      sigtimedwait(&signal_, nullptr, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  sigset_t signal_;
  sigset_t before_;
};

size_t FileNumber(const char* name) {
  return static_cast<size_t>(
      std::find_if(kFileNames.begin(), kFileNames.end(),
                   [name](const char* known) { return strcmp(known, name) == 0; }) -
      kFileNames.begin());
}

const char* DataName(Phase phase) {
  return phase == Phase::kBefore ? kBeforeDataName : kAfterDataName;
}

std::string Hex16(uint64_t number) {
  char text[17];
  snprintf(text, sizeof text, "%016" PRIx64, number);
  return text;
}

std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

std::string ChecksumsText(const FileLines& lines) {
  std::string text = "rochound capture bundle " + std::to_string(kBundleVersion) + "\n";
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view name = kFileNames[i];
    text += name.ends_with(".data") ? std::string(16, '-') : Hex16(lines[i].checksum);
    text += " " + std::to_string(lines[i].bytes) + " " + std::string(name) + "\n";
  }
  return text + Hex16(Checksum(AsBytes(text))) + " " + std::to_string(text.size()) + " " +
         kChecksumsName + "\n";
}

BundleDirectory::~BundleDirectory() {
  for (int& fd : data_) {
    if (fd >= 0) close(std::exchange(fd, -1));
  }
  if (!partial_.empty() && process_ == getpid()) Remove();
  if (directory_ >= 0) close(directory_);
}

bool BundleDirectory::Fail(const std::string& message) {
  if (error_.empty()) error_ = message;
  return false;
}

bool BundleDirectory::FailAt(const char* doing, const char* name, int error_number) {
  return Fail(std::string("cannot ") + doing + " '" + partial_ + "/" + name +
              "': " + strerror(error_number));
}

bool BundleDirectory::Make(const std::string& path) {
  path_ = path;
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  struct stat status{};
  if (path_.empty() || lstat(path_.c_str(), &status) == 0)
    return Fail("'" + path_ + "' is there already; choose another place for the bundle");
  std::string partial = path_ + ".partial";
  if (mkdir(partial.c_str(), 0700) != 0) {
    const int error = errno;
    return Fail(
        "cannot create '" + partial + "': " + strerror(error) +
        (error == EEXIST ? "; another capture is writing it, or one was killed: remove it" : ""));
  }
  partial_ = std::move(partial);  // a copy might fail, and then nobody would remove the folder
  process_ = getpid();
  directory_ =
      base::UnlessScarce(open(partial_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory_ < 0) return FailAt("open", "", errno);
  for (const Phase phase : {Phase::kBefore, Phase::kAfter}) {
    int& fd = data_[static_cast<size_t>(phase)];
    fd = CreateFile(DataName(phase));
    if (fd < 0) return false;
  }
  return true;
}

int BundleDirectory::CreateFile(const char* name) {
  const int fd = base::UnlessScarce(
      openat(directory_, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (fd < 0) FailAt("create", name, errno);
  return fd;
}

bool BundleDirectory::Append(int fd, const char* name, std::span<const std::byte> bytes) {
  const FileSizeSignalHeld held;
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return FailAt("write", name, written == 0 ? ENOSPC : errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

bool BundleDirectory::AppendData(Phase phase, std::span<const std::byte> bytes) {
  if (!error_.empty()) return false;
  const auto number = static_cast<size_t>(phase);
  ROCHOUND_DCHECK(number < std::size(data_) && data_[number] >= 0);
  if (!Append(data_[number], DataName(phase), bytes)) return false;
  data_bytes_[number] += bytes.size();
  return true;
}

bool BundleDirectory::ReadData(Phase phase, uint64_t place, std::span<std::byte> into) {
  if (!error_.empty()) return false;
  ROCHOUND_DCHECK(place + into.size() <= data_bytes_[static_cast<size_t>(phase)]);
  while (!into.empty()) {
    const ssize_t got = pread(data_[static_cast<size_t>(phase)], into.data(), into.size(),
                              static_cast<off_t>(place));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return FailAt("read back", DataName(phase), got == 0 ? EIO : errno);
    into = into.subspan(static_cast<size_t>(got));
    place += static_cast<uint64_t>(got);
  }
  return true;
}

bool BundleDirectory::SyncAndClose(int* fd, const char* name) {
  bool good = fsync(*fd) == 0 || errno == EINVAL;  // a file system that does not know it
  const int error = errno;
  if (close(std::exchange(*fd, -1)) != 0 && good) return FailAt("write", name, errno);
  return good || FailAt("write", name, error);
}

bool BundleDirectory::WriteWhole(const char* name, std::span<const std::byte> head,
                                 std::span<const std::byte> rest) {
  if (!error_.empty()) return false;
  int fd = CreateFile(name);
  if (fd < 0) return false;
  const bool good = Append(fd, name, head) && Append(fd, name, rest);
  if (!SyncAndClose(&fd, name) || !good) return false;
  RunningChecksum checksum;
  checksum.Add(head);
  checksum.Add(rest);
  const size_t number = FileNumber(name);
  if (number < lines_.size()) lines_[number] = {head.size() + rest.size(), checksum.Value()};
  return true;
}

bool BundleDirectory::WriteManifest(std::string_view json) {
  return WriteWhole(kManifestName, AsBytes(json), {});
}

bool BundleDirectory::WriteCodeObject(std::span<const std::byte> bytes) {
  return WriteWhole(kCodeObjectName, bytes, {});
}

bool BundleDirectory::WriteKernarg(std::span<const std::byte> bytes) {
  return WriteWhole(kKernargName, bytes, {});
}

bool BundleDirectory::WriteIndex(Phase phase, std::span<const Extent> extents) {
  IndexHeader header{};
  memcpy(header.magic, kIndexMagic, sizeof header.magic);
  header.version = kBundleVersion;
  header.page_bytes = kPageBytes;
  header.phase = phase;
  header.count = extents.size();
  return WriteWhole(phase == Phase::kBefore ? kBeforeIndexName : kAfterIndexName,
                    std::as_bytes(std::span(&header, 1)), std::as_bytes(extents));
}

bool BundleDirectory::Finish() {
  if (!error_.empty()) return false;
  for (const Phase phase : {Phase::kBefore, Phase::kAfter}) {
    const auto number = static_cast<size_t>(phase);
    lines_[FileNumber(DataName(phase))].bytes = data_bytes_[number];
    if (!SyncAndClose(&data_[number], DataName(phase))) return false;
  }
  if (!WriteWhole(kUnfinishedChecksums, AsBytes(ChecksumsText(lines_)), {})) return false;
  if (renameat(directory_, kUnfinishedChecksums, directory_, kChecksumsName) != 0)
    return FailAt("rename", kUnfinishedChecksums, errno);
  (void)fsync(directory_);
  // An empty directory that appeared in the meantime would be replaced, which hurts nobody; a file
  // or a full directory is an error.
  if (rename(partial_.c_str(), path_.c_str()) != 0) {
    return Fail("cannot rename '" + partial_ + "' to '" + path_ + "': " + strerror(errno));
  }
  ROCHOUND_DCHECK(data_[0] < 0 && data_[1] < 0);
  partial_.clear();
  const size_t slash = path_.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const int fd = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    (void)fsync(fd);
    close(fd);
  }
  return true;
}

void BundleDirectory::Remove() {
  if (directory_ >= 0) {
    for (const char* name : kFileNames) unlinkat(directory_, name, 0);
    unlinkat(directory_, kChecksumsName, 0);
    unlinkat(directory_, kUnfinishedChecksums, 0);
  }
  rmdir(partial_.c_str());
}

}  // namespace rochound::capture
