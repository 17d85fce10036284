// SPDX-License-Identifier: MIT
#include "trace/mapped_file.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/file_limit.h"

namespace rochound::trace {
namespace {

constexpr size_t kPageBytes = 4096;
#ifndef MADV_POPULATE_WRITE
constexpr int kPopulateWrite = 23;  // Linux 5.14; missing in older headers
#else
constexpr int kPopulateWrite = MADV_POPULATE_WRITE;
#endif

// Keeps the program's signal handlers from running, and SIGXFSZ of a write of ours from arriving.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  ~SignalsHeld() {
    const int error = errno;
    if (file_too_big_) {
      sigset_t too_big;
      sigemptyset(&too_big);
      sigaddset(&too_big, SIGXFSZ);
      const timespec now{};
      sigtimedwait(&too_big, nullptr, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  void Failed(int error) { file_too_big_ |= error == EFBIG; }

 private:
  sigset_t before_;
  bool file_too_big_ = false;
};

bool Allocate(int fd, uint64_t offset, size_t bytes) {
  SignalsHeld held;
  struct stat status{};
  if (fstat(fd, &status) != 0) return false;
  const int error = posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  if (error == 0) return true;
  held.Failed(error);
  // What was allocated before the disk was full.
  if (ftruncate(fd, status.st_size) != 0) held.Failed(errno);
  errno = error;
  return false;
}

void CloseKeepingErrno(int fd) {
  const int error = errno;
  close(fd);
  errno = error;
}

// A file system that copies on write (btrfs) needs a new block for each write, also to what is
// allocated, and may have none: asks it not to copy this file. Others refuse; they have no need.
void WriteInPlace(int fd) {
  const int error = errno;
  int flags = 0;
  if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
    flags |= FS_NOCOW_FL;
    ioctl(fd, FS_IOC_SETFLAGS, &flags);
  }
  errno = error;
}

}  // namespace

void* MapMemory(size_t bytes, bool wipe_on_fork) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (wipe_on_fork) madvise(memory, bytes, MADV_WIPEONFORK);
  return memory;
}

char* ExtendAndMap(const char* path, uint64_t offset, size_t bytes) {
  const bool is_new = offset == 0;
  const int fd = base::UnlessScarce(
      open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (is_new ? O_CREAT | O_EXCL : 0), 0600));
  if (fd < 0) return nullptr;
  if (is_new) WriteInPlace(fd);
  void* memory = MAP_FAILED;
  if (Allocate(fd, offset, bytes)) {
    memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
  }
  CloseKeepingErrno(fd);
  if (memory != MAP_FAILED) return static_cast<char*>(memory);
  if (is_new) {
    const int error = errno;
    unlink(path);
    errno = error;
  }
  return nullptr;
}

bool PunchHole(const char* path, uint64_t offset, size_t bytes) {
  const int fd = base::UnlessScarce(open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (fd < 0) return false;
  const bool done = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                              static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0;
  CloseKeepingErrno(fd);
  return done;
}

bool CopiesOnWrite(const char* folder) {
  constexpr uint32_t kBtrfs = 0x9123683e;
  constexpr uint32_t kZfs = 0x2fc12fc1;
  constexpr uint32_t kBcachefs = 0xca451a4e;
  struct statfs status{};
  if (statfs(folder, &status) != 0) return false;
  const auto type = static_cast<uint32_t>(status.f_type);
  return type == kBtrfs || type == kZfs || type == kBcachefs;
}

bool CanWrite(char* memory, size_t bytes) {
  const int error = errno;
  const bool can = madvise(memory, bytes, kPopulateWrite) == 0 || errno != EFAULT;
  errno = error;
  return can;
}

bool MakePrivate(char* memory, size_t bytes) {
  void* copy = MapMemory(bytes);
  if (copy == nullptr) return false;
  memcpy(copy, memory, bytes);
  if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, memory) != MAP_FAILED) return true;
  munmap(copy, bytes);
  return false;
}

void Prefault(char* memory, size_t bytes) {
  const int error = errno;
  if (madvise(memory, bytes, kPopulateWrite) != 0) {
    for (size_t i = 0; i < bytes; i += kPageBytes) {
      volatile char* page = memory + i;
      *page = *page;
    }
  }
  errno = error;
}

bool WriteWholeFile(const char* path, const char* content, size_t bytes) {
  char beside[PATH_MAX];
  const int length = snprintf(beside, sizeof beside, "%s.new", path);
  if (length < 0 || static_cast<size_t>(length) >= sizeof beside) {
    errno = ENAMETOOLONG;
    return false;
  }
  const int fd =
      base::UnlessScarce(open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd < 0) return false;
  bool good = true;
  {
    SignalsHeld held;
    while (good && bytes > 0) {
      const ssize_t done = write(fd, content, bytes);
      if (done > 0) {
        content += done;
        bytes -= static_cast<size_t>(done);
      } else if (done == 0 || errno != EINTR) {
        held.Failed(errno);
        good = false;
      }
    }
  }
  CloseKeepingErrno(fd);
  if (good && rename(beside, path) == 0) return true;
  const int error = errno;
  unlink(beside);
  errno = error;
  return false;
}

}  // namespace rochound::trace
