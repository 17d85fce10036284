// SPDX-License-Identifier: MIT
#include "softgpu/driver/memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "softgpu/memory/address_space.h"

namespace rochound::softgpu {
namespace {

constexpr uint64_t kLargePage = 2 << 20;

bool IsPageAligned(uint64_t value) { return value % kGpuPageSize == 0; }

uint64_t HostMemoryBytes() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Whether the program has something mapped at every page, as the kernel finds out by pinning them.
bool IsMappedByProgram(uint64_t address, uint64_t size) {
  return msync(reinterpret_cast<void*>(address), size, MS_ASYNC) == 0;
}

thread_local bool t_holds_lock = false;

uint8_t AccessOf(uint32_t flags) {
  uint8_t access = kRead;
  if ((flags & kfd::kAllocWritable) != 0) access |= kWrite;
  if ((flags & kfd::kAllocExecutable) != 0) access |= kExecute;
  return access;
}

}  // namespace

MemoryManager::Lock::Lock(base::Mutex& mutex) : mutex_(mutex) {
  mutex_.lock();
  t_holds_lock = true;
}

MemoryManager::Lock::~Lock() {
  t_holds_lock = false;
  mutex_.unlock();
}

MemoryManager::~MemoryManager() {
  for (const auto& [handle, buffer] : by_gem_handle_) delete buffer;
  for (const auto& [offset, storage] : by_offset_) delete storage;
}

Gpu* MemoryManager::FindGpu(uint32_t gpu_id) {
  for (const auto& gpu : gpus_)
    if (gpu->facts.gpu_id == gpu_id) return gpu.get();
  return nullptr;
}

MemoryManager::Buffer* MemoryManager::Find(uint64_t handle) {
  const auto found = buffers_.find(handle);
  return found == buffers_.end() ? nullptr : &found->second;
}

uint64_t MemoryManager::Add(Gpu& gpu, Buffer buffer) {
  uint64_t handle = 0;
  do {
    handle = uint64_t{gpu.facts.gpu_id} << 32 | next_handle_++;
  } while (static_cast<uint32_t>(handle) == 0 || buffers_.count(handle) != 0);
  buffers_.emplace(handle, buffer);
  return handle;
}

// Gives the storage its range of mmap offsets and the first reference.
void MemoryManager::Publish(Storage& storage) {
  storage.references = 1;
  storage.mmap_offset = next_offset_;
  next_offset_ += storage.size() + kGpuPageSize;
  by_offset_[storage.mmap_offset] = &storage;
  by_inode_[storage.inode()] = &storage;
}

int MemoryManager::NewStorage(Gpu& gpu, uint64_t size, uint32_t flags, Storage** storage) {
  const bool vram = (flags & kfd::kAllocVram) != 0;
  if (vram && size > gpu.facts.vram_bytes - gpu.vram_used) return -ENOMEM;
  if ((flags & kfd::kAllocGtt) != 0 && size > HostMemoryBytes()) return -ENOMEM;
  int error = 0;
  Storage* created = Storage::Create(size, gpu.facts.gpu_id, flags, &error);
  if (created == nullptr) return error;
  Publish(*created);
  if (vram) {
    created->accounted_bytes = size;
    gpu.vram_used += size;
  }
  *storage = created;
  return 0;
}

void MemoryManager::Release(Storage* storage) {
  if (storage == nullptr || --storage->references > 0) return;
  if (storage->accounted_bytes > 0) {
    if (Gpu* gpu = FindGpu(storage->trailer().gpu_id)) gpu->vram_used -= storage->accounted_bytes;
  }
  by_offset_.erase(storage->mmap_offset);
  by_inode_.erase(storage->inode());
  delete storage;
}

int MemoryManager::Alloc(Gpu& gpu, kfd::AllocMemoryArgs& args) {
  if (args.size == 0 || !IsPageAligned(args.size) || !IsPageAligned(args.va_addr)) return -EINVAL;
  if (args.va_addr > kGpuVmLimit || args.size > kGpuVmLimit - args.va_addr) return -EINVAL;
  Buffer buffer;
  buffer.gpu = &gpu;
  buffer.address = args.va_addr;
  buffer.size = args.size;
  buffer.flags = args.flags;
  const Lock lock(mutex_);
  switch (args.flags & kfd::kAllocTypeMask) {
    case kfd::kAllocVram:
    case kfd::kAllocGtt: {
      const bool twice = (args.flags & kfd::kAllocAqlQueueMem) != 0;
      const uint64_t size = twice ? args.size / 2 : args.size;
      if (!IsPageAligned(size)) return -EINVAL;
      if (const int error = NewStorage(gpu, size, args.flags, &buffer.storage)) return error;
      args.mmap_offset = buffer.storage->mmap_offset;
      break;
    }
    case kfd::kAllocUserptr:
      if (!IsPageAligned(args.mmap_offset)) return -EINVAL;
      if (!IsMappedByProgram(args.mmap_offset, args.size)) return -EFAULT;
      buffer.user_memory = reinterpret_cast<uint8_t*>(args.mmap_offset);
      break;
    case kfd::kAllocDoorbell:
    case kfd::kAllocMmioRemap: {
      const bool doorbell = (args.flags & kfd::kAllocDoorbell) != 0;
      Storage*& page = doorbell ? gpu.doorbells : gpu.mmio;
      const uint64_t bytes = doorbell ? kfd::kDoorbellPageBytes : kGpuPageSize;
      if (args.size != bytes) return -EINVAL;
      if (page == nullptr) {
        if (const int error = NewStorage(gpu, bytes, args.flags, &page)) return error;
      }
      ++page->references;
      buffer.storage = page;
      args.mmap_offset =
          (doorbell ? kfd::kMmapDoorbell : kfd::kMmapMmio) | kfd::MmapGpu(gpu.facts.gpu_id);
      break;
    }
    default:
      return -EINVAL;
  }
  args.handle = Add(gpu, buffer);
  return 0;
}

int MemoryManager::Free(uint64_t handle) {
  const Lock lock(mutex_);
  const auto found = buffers_.find(handle);
  if (found == buffers_.end()) return -EINVAL;
  if (found->second.mapped_gpus != 0) return -EBUSY;
  Release(found->second.storage);
  buffers_.erase(found);
  return 0;
}

// Reserves the range in the GPU's address space; two buffers never overlap.
int MemoryManager::AddMapping(Gpu& gpu, uint64_t begin, uint64_t end, const void* owner,
                              bool from_drm) {
  const auto next = gpu.mappings.lower_bound(begin);
  if (next != gpu.mappings.end() && next->first < end) return -EINVAL;
  if (next != gpu.mappings.begin() && std::prev(next)->second.end > begin) return -EINVAL;
  // If the program's memory was shared here, it is gone, or the runtime would not use its
  // addresses.
  svm_.Evict(begin, end);
  gpu.mappings.emplace_hint(next, begin, Gpu::Mapping{end, owner, from_drm});
  return 0;
}

int MemoryManager::MapBuffer(Gpu& gpu, Buffer& buffer) {
  Device* device = gpu.device.load(std::memory_order_acquire);
  if (device == nullptr) return -EINVAL;
  if ((buffer.mapped_gpus >> gpu.index & 1) != 0) return 0;
  const uint64_t end = buffer.address + buffer.size;
  if (const int error = AddMapping(gpu, buffer.address, end, &buffer, false)) return error;
  uint8_t* host = buffer.storage != nullptr ? buffer.storage->alias() : buffer.user_memory;
  const uint64_t piece = buffer.storage != nullptr ? buffer.storage->size() : buffer.size;
  for (uint64_t address = buffer.address; address < end; address += piece)
    device->address_space().Map(address, piece, host, AccessOf(buffer.flags));
  buffer.mapped_gpus |= uint64_t{1} << gpu.index;
  return 0;
}

void MemoryManager::UnmapBuffer(Gpu& gpu, Buffer& buffer) {
  if ((buffer.mapped_gpus >> gpu.index & 1) == 0) return;
  gpu.device.load(std::memory_order_acquire)->address_space().Unmap(buffer.address, buffer.size);
  gpu.mappings.erase(buffer.address);
  buffer.mapped_gpus &= ~(uint64_t{1} << gpu.index);
}

int MemoryManager::Map(kfd::MapMemoryArgs& args) {
  const Lock lock(mutex_);
  Buffer* buffer = Find(args.handle);
  if (buffer == nullptr || buffer->address == 0 || args.n_devices == 0 ||
      args.n_success > args.n_devices)
    return -EINVAL;
  const auto* ids = reinterpret_cast<const uint32_t*>(args.device_ids_ptr);
  for (; args.n_success < args.n_devices; ++args.n_success) {
    Gpu* gpu = FindGpu(ids[args.n_success]);
    if (gpu == nullptr) return -EINVAL;
    if (const int error = MapBuffer(*gpu, *buffer)) return error;
  }
  return 0;
}

int MemoryManager::Unmap(kfd::MapMemoryArgs& args) {
  const Lock lock(mutex_);
  Buffer* buffer = Find(args.handle);
  if (buffer == nullptr || args.n_devices == 0 || args.n_success > args.n_devices) return -EINVAL;
  const auto* ids = reinterpret_cast<const uint32_t*>(args.device_ids_ptr);
  for (; args.n_success < args.n_devices; ++args.n_success) {
    Gpu* gpu = FindGpu(ids[args.n_success]);
    if (gpu == nullptr) return -EINVAL;
    UnmapBuffer(*gpu, *buffer);
  }
  return 0;
}

uint64_t MemoryManager::Available(const Gpu& gpu) {
  const Lock lock(mutex_);
  return (gpu.facts.vram_bytes - gpu.vram_used) / kLargePage * kLargePage;
}

int MemoryManager::Svm(kfd::SvmArgs& args) {
  if (args.size == 0 || !IsPageAligned(args.start_address) || !IsPageAligned(args.size) ||
      args.start_address > kGpuVmLimit || args.size > kGpuVmLimit - args.start_address)
    return -EINVAL;
  if (!IsMappedByProgram(args.start_address, args.size)) return -EFAULT;
  const std::span attributes(reinterpret_cast<kfd::SvmAttribute*>(&args + 1), args.attribute_count);
  const Lock lock(mutex_);
  if (args.operation == kfd::kSvmGet) return svm_.Get(args.start_address, args.size, attributes);
  if (args.operation != kfd::kSvmSet) return -EINVAL;
  const int error = svm_.Set(args.start_address, args.size, attributes);
  has_svm_.store(!svm_.empty(), std::memory_order_release);
  return error;
}

void MemoryManager::ProgramUnmaps(uint64_t begin, uint64_t size) {
  if (!has_svm_.load(std::memory_order_acquire) || t_holds_lock) return;
  // The caller may be an allocator, in whatever thread. One of the GPU's threads must not wait for
  // us while we wait for it (AddressSpace::Unmap), so nobody waits for long: a range that stays
  // after gives way later.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (!mutex_.try_lock()) {
    if (std::chrono::steady_clock::now() > deadline) return;
    std::this_thread::yield();
  }
  t_holds_lock = true;
  svm_.Evict(begin, begin + size);
  has_svm_.store(!svm_.empty(), std::memory_order_release);
  t_holds_lock = false;
  mutex_.unlock();
}

uint8_t* MemoryManager::Alias(uint64_t handle, uint64_t bytes) {
  const Lock lock(mutex_);
  Buffer* buffer = Find(handle);
  if (buffer == nullptr || buffer->storage == nullptr || buffer->storage->size() < bytes)
    return nullptr;
  // The caller keeps it for the life of the process.
  ++buffer->storage->references;
  return buffer->storage->alias();
}

int MemoryManager::ProgramMap(Storage& storage, uint64_t offset, void* address, uint64_t length,
                              int protection, int flags, void** result) {
  if (length == 0 || offset > storage.size() || length > storage.size() - offset) return -EINVAL;
  void* mapped = mmap(address, length, protection, flags | MAP_NORESERVE, storage.fd(),
                      static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return -errno;
  *result = mapped;
  return 0;
}

int MemoryManager::MapStorage(void* address, uint64_t length, int protection, int flags,
                              uint64_t offset, void** result) {
  const Lock lock(mutex_);
  auto after = by_offset_.upper_bound(offset);
  if (after == by_offset_.begin()) return -EINVAL;
  Storage& storage = *std::prev(after)->second;
  if ((storage.trailer().flags & kfd::kAllocVram) != 0 && protection != PROT_NONE) {
    const Gpu* gpu = FindGpu(storage.trailer().gpu_id);
    if (gpu == nullptr || !gpu->facts.vram_host_visible) return -EPERM;
  }
  return ProgramMap(storage, offset - storage.mmap_offset, address, length, protection, flags,
                    result);
}

int MemoryManager::MapDoorbells(Gpu& gpu, void* address, uint64_t length, int protection, int flags,
                                void** result) {
  if (Doorbells(gpu) == nullptr) return -ENOMEM;
  const Lock lock(mutex_);
  return ProgramMap(*gpu.doorbells, 0, address, length, protection, flags, result);
}

int MemoryManager::MapMmio(Gpu& gpu, void* address, uint64_t length, int protection, int flags,
                           void** result) {
  const Lock lock(mutex_);
  if (gpu.mmio == nullptr) return -EINVAL;
  return ProgramMap(*gpu.mmio, 0, address, length, protection, flags, result);
}

volatile uint64_t* MemoryManager::Doorbells(Gpu& gpu) {
  const Lock lock(mutex_);
  if (gpu.doorbells == nullptr) {
    const uint32_t flags = kfd::kAllocDoorbell | kfd::kAllocWritable;
    if (NewStorage(gpu, kfd::kDoorbellPageBytes, flags, &gpu.doorbells) != 0) return nullptr;
  }
  return reinterpret_cast<volatile uint64_t*>(gpu.doorbells->alias());
}

void MemoryManager::AbandonAfterFork() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  for (const auto& [offset, storage] : by_offset_) storage->AbandonAfterFork();
}

}  // namespace rochound::softgpu
