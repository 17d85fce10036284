// SPDX-License-Identifier: MIT
//
// The interposed functions that look at files. Each redirects its path and calls the next one.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "softgpu/shim/devices.h"
#include "softgpu/shim/interpose.h"
#include "softgpu/shim/real.h"
#include "softgpu/shim/redirect.h"

namespace rochound::softgpu::shim {
namespace {

Next<int(const char*, int, mode_t)> next_open("open");
Next<int(int, const char*, int, mode_t)> next_openat("openat");
Next<FILE*(const char*, const char*)> next_fopen("fopen");
Next<FILE*(const char*, const char*)> next_fopen64("fopen64");
Next<DIR*(const char*)> next_opendir("opendir");
Next<int(const char*, int)> next_access("access");
Next<int(int, const char*, int, int)> next_faccessat("faccessat");
Next<int(const char*, struct stat*)> next_stat("stat");
Next<int(const char*, struct stat*)> next_lstat("lstat");
Next<int(int, const char*, struct stat*, int)> next_fstatat("fstatat");
Next<int(int, const char*, int, unsigned, struct statx*)> next_statx("statx");
Next<ssize_t(const char*, char*, size_t)> next_readlink("readlink");
Next<ssize_t(int, const char*, char*, size_t)> next_readlinkat("readlinkat");
Next<char*(const char*, char*)> next_realpath("realpath");
using ScandirFilter = int (*)(const struct dirent*);
using ScandirCompare = int (*)(const struct dirent**, const struct dirent**);
Next<int(const char*, struct dirent***, ScandirFilter, ScandirCompare)> next_scandir("scandir");

// On x86-64 the functions with and without "64" are one; the next library's plain ones serve both.
__attribute__((constructor(101))) void ResolveFileFunctions() {
  next_open.Resolve();
  next_openat.Resolve();
  next_access.Resolve();
  next_faccessat.Resolve();
  next_stat.Resolve();
  next_lstat.Resolve();
  next_fstatat.Resolve();
  next_statx.Resolve();
  next_readlink.Resolve();
  next_readlinkat.Resolve();
}

bool HasMode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

int Open(const char* path, int flags, mode_t mode) {
  int fd = -1;
  if (OpenDevice(path, flags, &fd)) return fd;
  const Redirected redirected(path);
  if (auto* next = next_open.IfResolved()) return next(redirected.get(), flags, mode);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, redirected.get(), flags, mode));
}

int OpenAt(int directory, const char* path, int flags, mode_t mode) {
  int fd = -1;
  if (OpenDevice(path, flags, &fd)) return fd;
  const Redirected redirected(path);
  if (auto* next = next_openat.IfResolved()) return next(directory, redirected.get(), flags, mode);
  return static_cast<int>(syscall(SYS_openat, directory, redirected.get(), flags, mode));
}

int StatAt(int directory, const char* path, struct stat* status, int flags) {
  const Redirected redirected(path);
  if (auto* next = next_fstatat.IfResolved())
    return next(directory, redirected.get(), status, flags);
  return static_cast<int>(syscall(SYS_newfstatat, directory, redirected.get(), status, flags));
}

int Stat(const char* path, struct stat* status) {
  const Redirected redirected(path);
  if (auto* next = next_stat.IfResolved()) return next(redirected.get(), status);
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, redirected.get(), status, 0));
}

int LinkStat(const char* path, struct stat* status) {
  const Redirected redirected(path);
  if (auto* next = next_lstat.IfResolved()) return next(redirected.get(), status);
  return static_cast<int>(
      syscall(SYS_newfstatat, AT_FDCWD, redirected.get(), status, AT_SYMLINK_NOFOLLOW));
}

FILE* OpenStream(Next<FILE*(const char*, const char*)>& next, const char* path, const char* mode) {
  const Redirected redirected(path);
  return next.Resolve()(redirected.get(), mode);
}

static_assert(sizeof(struct stat) == sizeof(struct stat64), "one structure for both names");

}  // namespace
}  // namespace rochound::softgpu::shim

using namespace rochound::softgpu::shim;  // NOLINT: the definitions below are global by nature

ROCHOUND_INTERPOSE int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if (HasMode(flags)) ROCHOUND_LAST_ARGUMENT(mode, flags, mode_t);
  return Open(path, flags, mode);
}

ROCHOUND_INTERPOSE int open64(const char* path, int flags, ...) {
  mode_t mode = 0;
  if (HasMode(flags)) ROCHOUND_LAST_ARGUMENT(mode, flags, mode_t);
  return Open(path, flags | O_LARGEFILE, mode);
}

ROCHOUND_INTERPOSE int __open_2(const char* path, int flags) { return Open(path, flags, 0); }
ROCHOUND_INTERPOSE int __open64_2(const char* path, int flags) { return Open(path, flags, 0); }

ROCHOUND_INTERPOSE int openat(int directory, const char* path, int flags, ...) {
  mode_t mode = 0;
  if (HasMode(flags)) ROCHOUND_LAST_ARGUMENT(mode, flags, mode_t);
  return OpenAt(directory, path, flags, mode);
}

ROCHOUND_INTERPOSE int openat64(int directory, const char* path, int flags, ...) {
  mode_t mode = 0;
  if (HasMode(flags)) ROCHOUND_LAST_ARGUMENT(mode, flags, mode_t);
  return OpenAt(directory, path, flags | O_LARGEFILE, mode);
}

ROCHOUND_INTERPOSE int __openat_2(int directory, const char* path, int flags) {
  return OpenAt(directory, path, flags, 0);
}
ROCHOUND_INTERPOSE int __openat64_2(int directory, const char* path, int flags) {
  return OpenAt(directory, path, flags, 0);
}

ROCHOUND_INTERPOSE FILE* fopen(const char* path, const char* mode) {
  return OpenStream(next_fopen, path, mode);
}
ROCHOUND_INTERPOSE FILE* fopen64(const char* path, const char* mode) {
  return OpenStream(next_fopen64, path, mode);
}

ROCHOUND_INTERPOSE DIR* opendir(const char* path) {
  const Redirected redirected(path);
  return next_opendir.Resolve()(redirected.get());
}

ROCHOUND_INTERPOSE int scandir(const char* path, struct dirent*** list, ScandirFilter filter,
                               ScandirCompare compare) {
  const Redirected redirected(path);
  return next_scandir.Resolve()(redirected.get(), list, filter, compare);
}

ROCHOUND_INTERPOSE int access(const char* path, int mode) noexcept {
  const Redirected redirected(path);
  if (auto* next = next_access.IfResolved()) return next(redirected.get(), mode);
  return static_cast<int>(syscall(SYS_access, redirected.get(), mode));
}

ROCHOUND_INTERPOSE int faccessat(int directory, const char* path, int mode, int flags) noexcept {
  const Redirected redirected(path);
  if (auto* next = next_faccessat.IfResolved())
    return next(directory, redirected.get(), mode, flags);
  return static_cast<int>(syscall(SYS_faccessat, directory, redirected.get(), mode));
}

ROCHOUND_INTERPOSE int stat(const char* path, struct stat* status) noexcept {
  return Stat(path, status);
}
ROCHOUND_INTERPOSE int stat64(const char* path, struct stat64* status) noexcept {
  return Stat(path, reinterpret_cast<struct stat*>(status));
}
ROCHOUND_INTERPOSE int lstat(const char* path, struct stat* status) noexcept {
  return LinkStat(path, status);
}
ROCHOUND_INTERPOSE int lstat64(const char* path, struct stat64* status) noexcept {
  return LinkStat(path, reinterpret_cast<struct stat*>(status));
}
ROCHOUND_INTERPOSE int fstatat(int directory, const char* path, struct stat* status,
                               int flags) noexcept {
  return StatAt(directory, path, status, flags);
}
ROCHOUND_INTERPOSE int fstatat64(int directory, const char* path, struct stat64* status,
                                 int flags) noexcept {
  return StatAt(directory, path, reinterpret_cast<struct stat*>(status), flags);
}

// What programs built before glibc 2.33 call instead of stat. The version is always that of the
// one structure x86-64 has.
ROCHOUND_INTERPOSE int __xstat(int, const char* path, struct stat* status) noexcept {
  return Stat(path, status);
}
ROCHOUND_INTERPOSE int __xstat64(int, const char* path, struct stat64* status) noexcept {
  return Stat(path, reinterpret_cast<struct stat*>(status));
}
ROCHOUND_INTERPOSE int __lxstat(int, const char* path, struct stat* status) noexcept {
  return LinkStat(path, status);
}
ROCHOUND_INTERPOSE int __lxstat64(int, const char* path, struct stat64* status) noexcept {
  return LinkStat(path, reinterpret_cast<struct stat*>(status));
}
ROCHOUND_INTERPOSE int __fxstatat(int, int directory, const char* path, struct stat* status,
                                  int flags) noexcept {
  return StatAt(directory, path, status, flags);
}
ROCHOUND_INTERPOSE int __fxstatat64(int, int directory, const char* path, struct stat64* status,
                                    int flags) noexcept {
  return StatAt(directory, path, reinterpret_cast<struct stat*>(status), flags);
}

ROCHOUND_INTERPOSE int statx(int directory, const char* path, int flags, unsigned mask,
                             struct statx* status) noexcept {
  const Redirected redirected(path);
  if (auto* next = next_statx.IfResolved())
    return next(directory, redirected.get(), flags, mask, status);
  return static_cast<int>(syscall(SYS_statx, directory, redirected.get(), flags, mask, status));
}

ROCHOUND_INTERPOSE ssize_t readlink(const char* path, char* buffer, size_t size) noexcept {
  const Redirected redirected(path);
  if (auto* next = next_readlink.IfResolved()) return next(redirected.get(), buffer, size);
  return syscall(SYS_readlink, redirected.get(), buffer, size);
}

ROCHOUND_INTERPOSE ssize_t readlinkat(int directory, const char* path, char* buffer,
                                      size_t size) noexcept {
  const Redirected redirected(path);
  if (auto* next = next_readlinkat.IfResolved())
    return next(directory, redirected.get(), buffer, size);
  return syscall(SYS_readlinkat, directory, redirected.get(), buffer, size);
}

ROCHOUND_INTERPOSE char* realpath(const char* path, char* resolved) noexcept {
  const Redirected redirected(path);
  return next_realpath.Resolve()(redirected.get(), resolved);
}
