// SPDX-License-Identifier: MIT
//
// MemoryManager's dealings with other processes: dma-buf descriptors, which are the storage's own
// memfd, and the older IPC handles.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "softgpu/driver/memory.h"
#include "softgpu/driver/message.h"

namespace rochound::softgpu {
namespace {

// Takes a descriptor out of another process of the same user; needs neither /proc nor its help.
int TakeDescriptor(pid_t pid, int fd) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process >= 0) {
    const int taken = static_cast<int>(syscall(SYS_pidfd_getfd, process, fd, 0));
    close(process);
    if (taken >= 0) return taken;
  }
  // pidfd_getfd needs the right to trace, this only the right to look.
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
  const int opened = open(path, O_RDWR | O_CLOEXEC);
  return opened < 0 ? -errno : opened;
}

}  // namespace

// The same memory is one storage in a process, whoever made it and however often it is imported.
int MemoryManager::ImportStorage(int fd, Storage** storage) {
  struct stat status;
  if (fstat(fd, &status) != 0) return -errno;
  const auto known = by_inode_.find(status.st_ino);
  if (known != by_inode_.end() && known->second->filesystem() == status.st_dev) {
    ++known->second->references;
    *storage = known->second;
    return 0;
  }
  int error = 0;
  Storage* imported = Storage::Import(fd, &error);
  if (imported == nullptr) return error;
  if (FindGpu(imported->trailer().gpu_id) == nullptr) {
    PrintFormatted("memory of GPU %u was imported, which this process does not have",
                   imported->trailer().gpu_id);
    delete imported;
    return -EINVAL;
  }
  Publish(*imported);
  *storage = imported;
  return 0;
}

int MemoryManager::ExportDmabuf(uint64_t handle, uint32_t flags, uint32_t* fd) {
  const Lock lock(mutex_);
  Buffer* buffer = Find(handle);
  if (buffer == nullptr || buffer->storage == nullptr) return -EINVAL;
  const int command = (flags & O_CLOEXEC) != 0 ? F_DUPFD_CLOEXEC : F_DUPFD;
  const int exported = fcntl(buffer->storage->fd(), command, 0);
  if (exported < 0) return -errno;
  *fd = static_cast<uint32_t>(exported);
  return 0;
}

int MemoryManager::ImportDmabuf(Gpu& gpu, int fd, uint64_t address, uint64_t* handle) {
  const Lock lock(mutex_);
  Buffer buffer;
  if (const int error = ImportStorage(fd, &buffer.storage)) return error;
  buffer.gpu = &gpu;
  buffer.address = address;
  buffer.size = buffer.storage->size();
  // The kernel maps an import with all rights.
  buffer.flags = (buffer.storage->trailer().flags & kfd::kAllocTypeMask) | kfd::kAllocWritable |
                 kfd::kAllocExecutable | kfd::kAllocPublic;
  *handle = Add(gpu, buffer);
  return 0;
}

int MemoryManager::DmabufInfo(kfd::GetDmabufInfoArgs& args) {
  const Lock lock(mutex_);
  Storage* storage = nullptr;
  if (const int error = ImportStorage(static_cast<int>(args.dmabuf_fd), &storage)) return error;
  const StorageTrailer& trailer = storage->trailer();
  const uint32_t available = trailer.metadata.size_metadata;
  const uint32_t space = args.metadata_size;
  args.size = storage->size();
  args.gpu_id = trailer.gpu_id;
  args.flags = trailer.flags;
  args.metadata_size = available;
  int result = 0;
  if (args.metadata_ptr != 0 && available > 0) {
    if (available > space)
      result = -EINVAL;  // and the size says how much would be enough
    else
      memcpy(reinterpret_cast<void*>(args.metadata_ptr), trailer.metadata.umd_metadata, available);
  }
  Release(storage);
  return result;
}

int MemoryManager::ExportIpc(uint64_t handle, uint32_t share_handle[4]) {
  const Lock lock(mutex_);
  Buffer* buffer = Find(handle);
  if (buffer == nullptr || buffer->storage == nullptr) return -EINVAL;
  const uint64_t nonce = buffer->storage->trailer().nonce;
  share_handle[0] = static_cast<uint32_t>(getpid());
  share_handle[1] = static_cast<uint32_t>(buffer->storage->fd());
  share_handle[2] = static_cast<uint32_t>(nonce);
  share_handle[3] = static_cast<uint32_t>(nonce >> 32);
  return 0;
}

int MemoryManager::ImportIpc(Gpu& gpu, kfd::IpcImportHandleArgs& args) {
  const int fd = TakeDescriptor(static_cast<pid_t>(args.share_handle[0]),
                                static_cast<int>(args.share_handle[1]));
  if (fd < 0) return -EINVAL;
  const uint64_t nonce = uint64_t{args.share_handle[3]} << 32 | args.share_handle[2];
  int result = ImportDmabuf(gpu, fd, args.va_addr, &args.handle);
  close(fd);
  if (result != 0) return result;
  const Lock lock(mutex_);
  const auto found = buffers_.find(args.handle);
  if (found->second.storage->trailer().nonce != nonce) {  // the exporter has freed it since
    Release(found->second.storage);
    buffers_.erase(found);
    return -EINVAL;
  }
  args.mmap_offset = found->second.storage->mmap_offset;
  return 0;
}

}  // namespace rochound::softgpu
