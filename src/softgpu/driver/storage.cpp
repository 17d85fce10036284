// SPDX-License-Identifier: MIT
#include "softgpu/driver/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

namespace rochound::softgpu {
namespace {

constexpr uint64_t kMagic = 0x31'4F'42'47'53'48'52'52;  // "RRHSGBO1"
constexpr uint64_t kTrailerBytes = 4096;
static_assert(sizeof(StorageTrailer) <= kTrailerBytes);

// A process may have thousands of buffers and by default 1024 descriptors. The limit is raised only
// when it is met: programs that never get there see nothing of it.
bool RaiseDescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return false;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

int CreateMemfd() {
  const auto create = [] { return memfd_create("rochound-softgpu-bo", MFD_CLOEXEC); };
  int fd = create();
  if (fd < 0 && errno == EMFILE && RaiseDescriptorLimit()) fd = create();
  return fd < 0 ? -errno : MoveDescriptorUp(fd);
}

uint64_t NewNonce() {
  static std::atomic<uint64_t> counter{0};
  uint64_t random = 0;
  if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
    random = static_cast<uint64_t>(getpid()) << 32;
  return random + counter.fetch_add(1, std::memory_order_relaxed);
}

uint8_t* MapAlias(int fd, uint64_t size) {
  void* alias = mmap(nullptr, size + kTrailerBytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (alias == MAP_FAILED) return nullptr;
  // A child must neither keep the parent's buffers alive nor see them: the real driver's mappings
  // are not inherited either.
  madvise(alias, size + kTrailerBytes, MADV_DONTFORK);
  return static_cast<uint8_t*>(alias);
}

}  // namespace

int MoveDescriptorUp(int fd) {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return fd;
  const uint64_t middle = limit.rlim_cur / 2;
  const int lowest = middle > 4096 ? 4096 : static_cast<int>(middle);
  if (fd >= lowest) return fd;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, lowest);
  if (moved < 0) return fd;
  close(fd);
  return moved;
}

Storage* Storage::Create(uint64_t size, uint32_t gpu_id, uint32_t flags, int* error) {
  const int fd = CreateMemfd();
  if (fd < 0) {
    *error = fd;
    return nullptr;
  }
  struct stat status;
  uint8_t* alias = nullptr;
  if (ftruncate(fd, static_cast<off_t>(size + kTrailerBytes)) != 0 || fstat(fd, &status) != 0 ||
      (alias = MapAlias(fd, size)) == nullptr) {
    *error = errno == EFBIG || errno == EINVAL ? -ENOMEM : -errno;
    close(fd);
    return nullptr;
  }
  auto* storage = new Storage;
  storage->fd_ = fd;
  storage->alias_ = alias;
  storage->size_ = size;
  storage->inode_ = status.st_ino;
  storage->filesystem_ = status.st_dev;
  StorageTrailer& trailer = storage->trailer();
  trailer.size = size;
  trailer.nonce = NewNonce();
  trailer.gpu_id = gpu_id;
  trailer.flags = flags;
  trailer.magic = kMagic;
  return storage;
}

Storage* Storage::Import(int fd, int* error) {
  struct stat status;
  StorageTrailer trailer;
  if (fstat(fd, &status) != 0) {
    *error = -errno;
    return nullptr;
  }
  const uint64_t size = static_cast<uint64_t>(status.st_size) - kTrailerBytes;
  if (!S_ISREG(status.st_mode) || static_cast<uint64_t>(status.st_size) <= kTrailerBytes ||
      pread(fd, &trailer, sizeof(trailer), static_cast<off_t>(size)) != sizeof(trailer) ||
      trailer.magic != kMagic || trailer.size != size) {
    *error = -EINVAL;
    return nullptr;
  }
  int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0 && errno == EMFILE && RaiseDescriptorLimit()) own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) {
    *error = -errno;
    return nullptr;
  }
  own = MoveDescriptorUp(own);
  uint8_t* alias = MapAlias(own, size);
  if (alias == nullptr) {
    *error = -errno;
    close(own);
    return nullptr;
  }
  auto* storage = new Storage;
  storage->fd_ = own;
  storage->alias_ = alias;
  storage->size_ = size;
  storage->inode_ = status.st_ino;
  storage->filesystem_ = status.st_dev;
  storage->imported_ = true;
  return storage;
}

Storage::~Storage() {
  if (alias_ != nullptr) munmap(alias_, size_ + kTrailerBytes);
  if (fd_ >= 0) close(fd_);
}

void Storage::AbandonAfterFork() {
  close(fd_);
  fd_ = -1;
  alias_ = nullptr;
}

}  // namespace rochound::softgpu
