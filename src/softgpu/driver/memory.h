// SPDX-License-Identifier: MIT
//
// The memory of one process: buffer objects by their KFD handles, where each is mapped in which
// GPU's address space, and the offsets at which the program maps them from a render node. Any
// thread; one lock, which is held while AddressSpace::Unmap waits for the GPU's threads, so those
// must never call in here. All functions return 0 or -errno unless they say otherwise.
//
// User memory (userptr) has no storage: the GPU's threads use the program's own bytes. A queue ring
// of the "AQL queue memory" kind is half as large as it says and mapped twice in a row.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "softgpu/driver/gpu.h"
#include "softgpu/driver/kfd_abi.h"
#include "softgpu/driver/storage.h"
#include "softgpu/driver/svm.h"

namespace rochound::softgpu {

// A buffer object of libdrm_amdgpu: one per device and storage, counted.
struct DrmBuffer {
  Gpu* gpu = nullptr;
  Storage* storage = nullptr;
  uint32_t gem_handle = 0;
  uint32_t references = 0;
  void* cpu_address = nullptr;
  uint32_t cpu_references = 0;
};

class MemoryManager {
 public:
  explicit MemoryManager(std::vector<std::unique_ptr<Gpu>>& gpus) : gpus_(gpus) {}
  ~MemoryManager();  // for tests; nothing may use the memory any more
  MemoryManager(const MemoryManager&) = delete;
  MemoryManager& operator=(const MemoryManager&) = delete;

  int Alloc(Gpu& gpu, kfd::AllocMemoryArgs& args);
  int Free(uint64_t handle);
  int Map(kfd::MapMemoryArgs& args);
  int Unmap(kfd::MapMemoryArgs& args);
  uint64_t Available(const Gpu& gpu);

  int ExportDmabuf(uint64_t handle, uint32_t flags, uint32_t* fd);
  int ImportDmabuf(Gpu& gpu, int fd, uint64_t address, uint64_t* handle);
  int DmabufInfo(kfd::GetDmabufInfoArgs& args);
  // Between processes of one user: the handle names this process, a descriptor and the nonce.
  int ExportIpc(uint64_t handle, uint32_t share_handle[4]);
  int ImportIpc(Gpu& gpu, kfd::IpcImportHandleArgs& args);

  // The SVM ioctl: `args` with its attributes after it.
  int Svm(kfd::SvmArgs& args);
  // The program is about to unmap these addresses or to map something else there. Cheap if no range
  // of its memory is shared with a GPU.
  void ProgramUnmaps(uint64_t begin, uint64_t size);

  // The driver's own view of a buffer's bytes; nullptr for an unknown handle or one too small.
  uint8_t* Alias(uint64_t handle, uint64_t bytes);

  // The program's mappings. A render node's offsets are those that Alloc gave out.
  int MapStorage(void* address, uint64_t length, int protection, int flags, uint64_t offset,
                 void** result);
  int MapDoorbells(Gpu& gpu, void* address, uint64_t length, int protection, int flags,
                   void** result);
  int MapMmio(Gpu& gpu, void* address, uint64_t length, int protection, int flags, void** result);
  // The GPU's doorbell page in the driver's own mapping, kfd::kDoorbellPageBytes long. nullptr if
  // there is no memory for it.
  volatile uint64_t* Doorbells(Gpu& gpu);

  int DrmImport(Gpu& gpu, int type, uint32_t shared_handle, DrmBuffer** buffer);
  int DrmExport(DrmBuffer& buffer, int type, uint32_t* shared_handle);
  int DrmFree(DrmBuffer& buffer);
  int DrmCpuMap(DrmBuffer& buffer, void** address);
  int DrmCpuUnmap(DrmBuffer& buffer);
  int DrmVaOperation(DrmBuffer& buffer, uint64_t offset, uint64_t size, uint64_t address,
                     uint32_t operation);
  int DrmMmapOffset(uint32_t gem_handle, uint64_t* offset);
  int DrmQueryInfo(DrmBuffer& buffer, drm::BoInfo* info);
  int DrmSetMetadata(DrmBuffer& buffer, const drm::BoMetadata& metadata);

  // Around fork: see Driver.
  base::Mutex& mutex() ROCHOUND_RETURN_CAPABILITY(mutex_) { return mutex_; }
  void AbandonAfterFork();

 private:
  struct Buffer {
    Gpu* gpu = nullptr;
    uint64_t address = 0;  // 0: no GPU address; only libdrm can map it
    uint64_t size = 0;
    uint32_t flags = 0;
    Storage* storage = nullptr;
    uint8_t* user_memory = nullptr;
    uint64_t mapped_gpus = 0;  // bit per Gpu::index
  };

  // Holds the lock, and remembers that this thread does: see ProgramUnmaps.
  class ROCHOUND_SCOPED_CAPABILITY Lock {
   public:
    explicit Lock(base::Mutex& mutex) ROCHOUND_ACQUIRE(mutex);
    ~Lock() ROCHOUND_RELEASE();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    base::Mutex& mutex_;
  };

  Buffer* Find(uint64_t handle) ROCHOUND_REQUIRES(mutex_);
  uint64_t Add(Gpu& gpu, Buffer buffer) ROCHOUND_REQUIRES(mutex_);
  int NewStorage(Gpu& gpu, uint64_t size, uint32_t flags, Storage** storage)
      ROCHOUND_REQUIRES(mutex_);
  int ImportStorage(int fd, Storage** storage) ROCHOUND_REQUIRES(mutex_);
  void Publish(Storage& storage) ROCHOUND_REQUIRES(mutex_);
  void Release(Storage* storage) ROCHOUND_REQUIRES(mutex_);
  int AddMapping(Gpu& gpu, uint64_t begin, uint64_t end, const void* owner, bool from_drm)
      ROCHOUND_REQUIRES(mutex_);
  int MapBuffer(Gpu& gpu, Buffer& buffer) ROCHOUND_REQUIRES(mutex_);
  void UnmapBuffer(Gpu& gpu, Buffer& buffer) ROCHOUND_REQUIRES(mutex_);
  void UnmapDrm(Gpu& gpu, const Storage& storage) ROCHOUND_REQUIRES(mutex_);
  Gpu* FindGpu(uint32_t gpu_id);
  int ProgramMap(Storage& storage, uint64_t offset, void* address, uint64_t length, int protection,
                 int flags, void** result);

  base::Mutex mutex_;
  std::vector<std::unique_ptr<Gpu>>& gpus_;
  SvmRanges svm_ ROCHOUND_GUARDED_BY(mutex_){gpus_};
  std::atomic<bool> has_svm_{false};
  std::unordered_map<uint64_t, Buffer> buffers_ ROCHOUND_GUARDED_BY(mutex_);
  std::map<uint64_t, Storage*> by_offset_ ROCHOUND_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Storage*> by_inode_ ROCHOUND_GUARDED_BY(mutex_);
  std::unordered_map<uint32_t, DrmBuffer*> by_gem_handle_ ROCHOUND_GUARDED_BY(mutex_);
  uint64_t next_offset_ ROCHOUND_GUARDED_BY(mutex_) = uint64_t{1} << 32;
  uint32_t next_handle_ ROCHOUND_GUARDED_BY(mutex_) = 1;
  uint32_t next_gem_handle_ ROCHOUND_GUARDED_BY(mutex_) = 1;
};

}  // namespace rochound::softgpu
