// SPDX-License-Identifier: MIT
//
// The core's exported function: the table behind core_interface.h. Nothing but translation.
#include <errno.h>

#include <new>

#include "softgpu/core_interface.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/drm_abi.h"
#include "softgpu/driver/message.h"

namespace rochound::softgpu {
namespace {

// Runs the answer; what may throw is only the lack of memory.
template <typename Answer>
int Guarded(Answer&& answer) {
  try {
    return answer();
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

template <typename Answer>
int WithDriver(Answer&& answer) {
  Driver* driver = Driver::Current();
  if (driver == nullptr) return -EBADF;
  return Guarded([&] { return answer(*driver); });
}

int OpenKfd(int flags) {
  return Guarded([&] {
    Driver* driver = Driver::Open();
    return driver == nullptr ? -ENODEV : driver->OpenKfd(flags);
  });
}

int OpenRender(int minor, int flags) {
  return Guarded([&] {
    Driver* driver = Driver::Open();
    return driver == nullptr ? -ENODEV : driver->OpenRender(minor, flags);
  });
}

int Control(int fd, unsigned long request, void* argument) {
  return WithDriver([&](Driver& driver) { return driver.Control(fd, request, argument); });
}

int Map(int fd, void* address, size_t length, int protection, int flags, int64_t offset,
        void** result) {
  if (Driver::Current() == nullptr) return kSoftgpuNotOurs;
  return WithDriver([&](Driver& driver) {
    return driver.Map(fd, address, length, protection, flags, offset, result);
  });
}

void Closing(int fd) {
  if (Driver* driver = Driver::Current()) driver->CloseFile(fd);
}

void Unmapping(void* address, size_t length) {
  if (Driver* driver = Driver::Current())
    driver->memory().ProgramUnmaps(reinterpret_cast<uint64_t>(address), length);
}

int DrmCommand(int fd, unsigned long index, void* data, unsigned long size) {
  return WithDriver([&](Driver& driver) {
    if (driver.RenderGpu(fd) == nullptr) return -EBADF;
    if (index != drm::kCommandGemMmap || size != sizeof(drm::GemMmap)) {
      PrintFormatted("DRM command 0x%lx is not implemented", index);
      return -EINVAL;
    }
    auto* mapping = static_cast<drm::GemMmap*>(data);
    return driver.memory().DrmMmapOffset(mapping->in.handle, &mapping->out.offset);
  });
}

int DeviceInitialize(int fd, uint32_t* major, uint32_t* minor, void** device) {
  return WithDriver([&](Driver& driver) {
    Gpu* gpu = nullptr;
    if (const int error = driver.InitializeDrm(fd, &gpu)) return error;
    *major = drm::kInterfaceMajor;
    *minor = drm::kInterfaceMinor;
    *device = gpu;
    return 0;
  });
}

// In a forked child the handle is the parent's, and so is its descriptor: nothing to give back.
int DeviceDeinitialize(void* device) {
  Driver* driver = Driver::Current();
  auto* gpu = static_cast<Gpu*>(device);
  if (driver != nullptr && driver->FindGpu(gpu->facts.gpu_id) == gpu) driver->DeinitializeDrm(*gpu);
  return 0;
}

int DeviceGetFd(void* device) { return static_cast<Gpu*>(device)->drm_fd; }

const char* MarketingName(void* device) {
  return static_cast<Gpu*>(device)->facts.marketing_name.c_str();
}

int QueryGpuInfo(void* device, void* out) {
  const GpuFacts& facts = static_cast<Gpu*>(device)->facts;
  auto& info = *static_cast<drm::GpuInfo*>(out);
  info = {};
  info.asic_id = facts.device_id;
  info.chip_rev = facts.asic_revision;
  info.chip_external_rev = facts.asic_revision;
  info.family_id = facts.family_id;
  info.max_engine_clk = uint64_t{facts.engine_clock_mhz} * 1000;
  info.max_memory_clk = uint64_t{facts.memory_clock_mhz} * 1000;
  info.num_shader_engines = facts.shader_engines;
  info.num_shader_arrays_per_engine = facts.arrays_per_engine;
  info.gpu_counter_freq = facts.counter_khz;
  info.cu_active_number = facts.cu_count;
  info.vram_type = facts.vram_type;
  info.vram_bit_width = facts.vram_width_bits;
  info.pci_rev_id = facts.revision_id;
  return 0;
}

int BoImport(void* device, int type, uint32_t shared_handle, void* out) {
  return WithDriver([&](Driver& driver) {
    DrmBuffer* buffer = nullptr;
    Gpu& gpu = *static_cast<Gpu*>(device);
    if (const int error = driver.memory().DrmImport(gpu, type, shared_handle, &buffer))
      return error;
    auto* result = static_cast<drm::BoImportResult*>(out);
    result->buf_handle = buffer;
    result->alloc_size = buffer->storage->size();
    return 0;
  });
}

// The functions on a buffer object, which differ only in what they ask the memory manager.
template <typename Answer>
int WithBuffer(void* bo, Answer&& answer) {
  return WithDriver(
      [&](Driver& driver) { return answer(driver.memory(), *static_cast<DrmBuffer*>(bo)); });
}

int BoExport(void* bo, int type, uint32_t* shared_handle) {
  return WithBuffer(bo, [&](MemoryManager& memory, DrmBuffer& buffer) {
    return memory.DrmExport(buffer, type, shared_handle);
  });
}

int BoFree(void* bo) {
  return WithBuffer(
      bo, [](MemoryManager& memory, DrmBuffer& buffer) { return memory.DrmFree(buffer); });
}

int BoCpuMap(void* bo, void** address) {
  return WithBuffer(bo, [&](MemoryManager& memory, DrmBuffer& buffer) {
    return memory.DrmCpuMap(buffer, address);
  });
}

int BoCpuUnmap(void* bo) {
  return WithBuffer(
      bo, [](MemoryManager& memory, DrmBuffer& buffer) { return memory.DrmCpuUnmap(buffer); });
}

int BoQueryInfo(void* bo, void* info) {
  return WithBuffer(bo, [&](MemoryManager& memory, DrmBuffer& buffer) {
    return memory.DrmQueryInfo(buffer, static_cast<drm::BoInfo*>(info));
  });
}

int BoSetMetadata(void* bo, void* metadata) {
  return WithBuffer(bo, [&](MemoryManager& memory, DrmBuffer& buffer) {
    return memory.DrmSetMetadata(buffer, *static_cast<drm::BoMetadata*>(metadata));
  });
}

int BoVaOp(void* bo, uint64_t offset, uint64_t size, uint64_t address, uint64_t,
           uint32_t operation) {
  return WithBuffer(bo, [&](MemoryManager& memory, DrmBuffer& buffer) {
    return memory.DrmVaOperation(buffer, offset, size, address, operation);
  });
}

constexpr SoftgpuCore kTable = {
    .version = ROCHOUND_SOFTGPU_CORE_VERSION,
    .size = sizeof(SoftgpuCore),
    .open_kfd = &OpenKfd,
    .open_render = &OpenRender,
    .control = &Control,
    .map = &Map,
    .closing = &Closing,
    .unmapping = &Unmapping,
    .drm_command = &DrmCommand,
    .device_initialize = &DeviceInitialize,
    .device_deinitialize = &DeviceDeinitialize,
    .device_get_fd = &DeviceGetFd,
    .marketing_name = &MarketingName,
    .query_gpu_info = &QueryGpuInfo,
    .bo_import = &BoImport,
    .bo_export = &BoExport,
    .bo_free = &BoFree,
    .bo_cpu_map = &BoCpuMap,
    .bo_cpu_unmap = &BoCpuUnmap,
    .bo_query_info = &BoQueryInfo,
    .bo_set_metadata = &BoSetMetadata,
    .bo_va_op = &BoVaOp,
};

}  // namespace
}  // namespace rochound::softgpu

extern "C" __attribute__((visibility("default"))) const SoftgpuCore* rochound_softgpu_core(
    uint32_t version, SoftgpuTrack track) {
  using namespace rochound::softgpu;  // NOLINT: one function
  if (version != ROCHOUND_SOFTGPU_CORE_VERSION) {
    PrintFormatted("the shim wants core version %u, this core has version %u: mixed installation",
                   version, unsigned{ROCHOUND_SOFTGPU_CORE_VERSION});
    return nullptr;
  }
  Driver::SetTrack(track);
  return &kTable;
}
