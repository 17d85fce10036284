// SPDX-License-Identifier: MIT
//
// The bytes of one buffer object: a memfd, mapped once by the driver (the alias, which the GPU's
// threads use) and as often as the program likes. Memory that is never touched costs nothing. The
// last page of the memfd, after the object's size, holds what must travel with the object when it
// is handed to another process as a dma-buf: see Trailer. Not locked: MemoryManager does that.
#pragma once

#include <cstdint>

#include "softgpu/driver/drm_abi.h"

namespace rochound::softgpu {

// In the memfd's last page. Both processes see it, so metadata set by one is there for the other.
struct StorageTrailer {
  uint64_t magic;
  uint64_t size;   // of the object, without this page
  uint64_t nonce;  // differs between any two objects: guards IPC handles against reuse
  uint32_t gpu_id;
  uint32_t flags;  // kfd::AllocFlags it was made with
  drm::BoMetadata metadata;
};

class Storage {
 public:
  // New zeroed memory. nullptr and -errno in *error.
  static Storage* Create(uint64_t size, uint32_t gpu_id, uint32_t flags, int* error);
  // From a descriptor that another Storage was exported as; the descriptor stays the caller's.
  // -EINVAL if it is none.
  static Storage* Import(int fd, int* error);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  uint64_t size() const { return size_; }
  int fd() const { return fd_; }
  uint8_t* alias() const { return alias_; }
  // Of the memfd: together they tell whether two descriptors are the same memory.
  uint64_t inode() const { return inode_; }
  uint64_t filesystem() const { return filesystem_; }
  StorageTrailer& trailer() const { return *reinterpret_cast<StorageTrailer*>(alias_ + size_); }
  bool imported() const { return imported_; }

  // In the child after fork: gives the descriptor back; the alias was never inherited.
  void AbandonAfterFork();

  // Kept by MemoryManager.
  uint64_t mmap_offset = 0;
  uint32_t references = 0;
  uint64_t accounted_bytes = 0;  // of the VRAM of trailer().gpu_id

 private:
  Storage() = default;

  int fd_ = -1;
  uint8_t* alias_ = nullptr;
  uint64_t size_ = 0;
  uint64_t inode_ = 0;
  uint64_t filesystem_ = 0;
  bool imported_ = false;
};

// A descriptor for the program or for us, out of the way of the low numbers that programs expect to
// get. Takes over `fd`; may return it unchanged.
int MoveDescriptorUp(int fd);

}  // namespace rochound::softgpu
