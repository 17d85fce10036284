// SPDX-License-Identifier: MIT
//
// MemoryManager's side of libdrm_amdgpu: buffer objects by pointer, mapped where the caller says.
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>
#include <iterator>

#include "softgpu/driver/memory.h"
#include "softgpu/memory/address_space.h"

namespace rochound::softgpu {

int MemoryManager::DrmImport(Gpu& gpu, int type, uint32_t shared_handle, DrmBuffer** buffer) {
  if (type != drm::kHandleDmabuf) return -EPERM;  // flink names and KMS handles are not shared
  const Lock lock(mutex_);
  Storage* storage = nullptr;
  if (const int error = ImportStorage(static_cast<int>(shared_handle), &storage)) return error;
  for (const auto& [handle, known] : by_gem_handle_) {
    if (known->gpu != &gpu || known->storage != storage) continue;
    Release(storage);
    ++known->references;
    *buffer = known;
    return 0;
  }
  auto* created = new DrmBuffer;
  created->gpu = &gpu;
  created->storage = storage;
  created->gem_handle = next_gem_handle_++;
  created->references = 1;
  by_gem_handle_[created->gem_handle] = created;
  *buffer = created;
  return 0;
}

int MemoryManager::DrmExport(DrmBuffer& buffer, int type, uint32_t* shared_handle) {
  const Lock lock(mutex_);
  switch (type) {
    case drm::kHandleKms:
    case drm::kHandleKmsNoImport:
      *shared_handle = buffer.gem_handle;
      return 0;
    case drm::kHandleDmabuf: {
      const int fd = fcntl(buffer.storage->fd(), F_DUPFD_CLOEXEC, 0);
      if (fd < 0) return -errno;
      *shared_handle = static_cast<uint32_t>(fd);
      return 0;
    }
    default:
      return -EINVAL;
  }
}

int MemoryManager::DrmFree(DrmBuffer& buffer) {
  const Lock lock(mutex_);
  if (--buffer.references > 0) return 0;
  UnmapDrm(*buffer.gpu, *buffer.storage);
  if (buffer.cpu_address != nullptr) munmap(buffer.cpu_address, buffer.storage->size());
  by_gem_handle_.erase(buffer.gem_handle);
  Release(buffer.storage);
  delete &buffer;
  return 0;
}

// What libdrm mapped of this storage on this GPU goes with its last handle there.
void MemoryManager::UnmapDrm(Gpu& gpu, const Storage& storage) {
  Device* device = gpu.device.load(std::memory_order_acquire);
  for (auto mapping = gpu.mappings.begin(); mapping != gpu.mappings.end();) {
    if (!mapping->second.from_drm || mapping->second.owner != &storage) {
      ++mapping;
      continue;
    }
    device->address_space().Unmap(mapping->first, mapping->second.end - mapping->first);
    mapping = gpu.mappings.erase(mapping);
  }
}

int MemoryManager::DrmCpuMap(DrmBuffer& buffer, void** address) {
  const Lock lock(mutex_);
  if (buffer.cpu_address == nullptr) {
    if (const int error = ProgramMap(*buffer.storage, 0, nullptr, buffer.storage->size(),
                                     PROT_READ | PROT_WRITE, MAP_SHARED, &buffer.cpu_address))
      return error;
  }
  ++buffer.cpu_references;
  *address = buffer.cpu_address;
  return 0;
}

int MemoryManager::DrmCpuUnmap(DrmBuffer& buffer) {
  const Lock lock(mutex_);
  if (buffer.cpu_references == 0) return -EINVAL;
  if (--buffer.cpu_references > 0) return 0;
  munmap(buffer.cpu_address, buffer.storage->size());
  buffer.cpu_address = nullptr;
  return 0;
}

int MemoryManager::DrmVaOperation(DrmBuffer& buffer, uint64_t offset, uint64_t size,
                                  uint64_t address, uint32_t operation) {
  const Lock lock(mutex_);
  Gpu& gpu = *buffer.gpu;
  Device* device = gpu.device.load(std::memory_order_acquire);
  if (device == nullptr) return -EINVAL;
  size = (size + kGpuPageSize - 1) / kGpuPageSize * kGpuPageSize;
  if (size == 0 || address % kGpuPageSize != 0 || offset % kGpuPageSize != 0 ||
      address > kGpuVmLimit || size > kGpuVmLimit - address)
    return -EINVAL;
  const Storage& storage = *buffer.storage;
  switch (operation) {
    case drm::kVaMap: {
      if (offset > storage.size() || size > storage.size() - offset) return -EINVAL;
      if (const int error = AddMapping(gpu, address, address + size, &storage, true)) return error;
      // libdrm ignores the caller's flags and asks for everything.
      device->address_space().Map(address, size, storage.alias() + offset,
                                  kRead | kWrite | kExecute);
      return 0;
    }
    case drm::kVaUnmap: {
      const auto mapping = gpu.mappings.find(address);
      if (mapping == gpu.mappings.end() || !mapping->second.from_drm ||
          mapping->second.owner != &storage)
        return -ENOENT;
      device->address_space().Unmap(address, mapping->second.end - address);
      gpu.mappings.erase(mapping);
      return 0;
    }
    default:
      return -EINVAL;
  }
}

int MemoryManager::DrmMmapOffset(uint32_t gem_handle, uint64_t* offset) {
  const Lock lock(mutex_);
  const auto found = by_gem_handle_.find(gem_handle);
  if (found == by_gem_handle_.end()) return -ENOENT;
  *offset = found->second->storage->mmap_offset;
  return 0;
}

int MemoryManager::DrmQueryInfo(DrmBuffer& buffer, drm::BoInfo* info) {
  const Lock lock(mutex_);
  const StorageTrailer& trailer = buffer.storage->trailer();
  *info = {};
  info->alloc_size = buffer.storage->size();
  info->phys_alignment = kGpuPageSize;
  info->preferred_heap =
      (trailer.flags & kfd::kAllocVram) != 0 ? drm::kDomainVram : drm::kDomainGtt;
  info->metadata = trailer.metadata;
  return 0;
}

int MemoryManager::DrmSetMetadata(DrmBuffer& buffer, const drm::BoMetadata& metadata) {
  if (metadata.size_metadata > sizeof(metadata.umd_metadata)) return -EINVAL;
  const Lock lock(mutex_);
  buffer.storage->trailer().metadata = metadata;
  return 0;
}

}  // namespace rochound::softgpu
