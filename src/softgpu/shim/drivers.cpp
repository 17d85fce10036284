// SPDX-License-Identifier: MIT
//
// The interposed functions that talk to the driver: on descriptors, and libdrm's. Without a device
// tree each calls the next one.
#include <errno.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "softgpu/shim/devices.h"
#include "softgpu/shim/interpose.h"
#include "softgpu/shim/real.h"
#include "softgpu/shim/redirect.h"

namespace rochound::softgpu::shim {
namespace {

Next<int(int, unsigned long, void*)> next_ioctl("ioctl");
Next<void*(void*, size_t, int, int, int, off_t)> next_mmap("mmap");
Next<int(void*, size_t)> next_munmap("munmap");
Next<void*(void*, size_t, size_t, int, void*)> next_mremap("mremap");
Next<int(int)> next_close("close");

Next<int(int)> next_drmOpenRender("drmOpenRender");
Next<int(int)> next_drmClose("drmClose");
Next<int(int, unsigned long, void*, unsigned long)> next_drmCommandWriteRead("drmCommandWriteRead");
Next<int(int, uint32_t*, uint32_t*, void**)> next_device_initialize("amdgpu_device_initialize");
Next<int(void*)> next_device_deinitialize("amdgpu_device_deinitialize");
Next<int(void*)> next_device_get_fd("amdgpu_device_get_fd");
Next<const char*(void*)> next_get_marketing_name("amdgpu_get_marketing_name");
Next<int(void*, void*)> next_query_gpu_info("amdgpu_query_gpu_info");
Next<int(void*, int, uint32_t, void*)> next_bo_import("amdgpu_bo_import");
Next<int(void*, int, uint32_t*)> next_bo_export("amdgpu_bo_export");
Next<int(void*)> next_bo_free("amdgpu_bo_free");
Next<int(void*, void**)> next_bo_cpu_map("amdgpu_bo_cpu_map");
Next<int(void*)> next_bo_cpu_unmap("amdgpu_bo_cpu_unmap");
Next<int(void*, void*)> next_bo_query_info("amdgpu_bo_query_info");
Next<int(void*, void*)> next_bo_set_metadata("amdgpu_bo_set_metadata");
Next<int(void*, uint64_t, uint64_t, uint64_t, uint64_t, uint32_t)> next_bo_va_op("amdgpu_bo_va_op");

// 'K' is the KFD's ioctl type and 'd' that of DRM; others (FIOCLEX, ...) are for the file below.
constexpr unsigned kKfdType = 'K';
constexpr unsigned kDrmType = 'd';

__attribute__((constructor(101))) void ResolveDriverFunctions() {
  next_ioctl.Resolve();
  next_mmap.Resolve();
  next_munmap.Resolve();
  next_mremap.Resolve();
  next_close.Resolve();
}

// Before it happens: afterwards the GPU's threads would run into a hole.
void Unmapping(void* address, size_t length) {
  if (const SoftgpuCore* core = LoadedCore()) core->unmapping(address, length);
}

void* Map(void* address, size_t length, int protection, int flags, int fd, off_t offset) {
  if ((flags & MAP_FIXED) != 0) Unmapping(address, length);
  if (IsOurs(fd) && (flags & MAP_ANONYMOUS) == 0) {
    void* mapped = nullptr;
    const int result = Core()->map(fd, address, length, protection, flags, offset, &mapped);
    if (result >= 0) return mapped;
    if (result != kSoftgpuNotOurs) {
      errno = -result;
      return MAP_FAILED;
    }
    Forget(fd);
  }
  if (auto* next = next_mmap.IfResolved())
    return next(address, length, protection, flags, fd, offset);
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, length, protection, flags, fd, offset));
}

}  // namespace
}  // namespace rochound::softgpu::shim

using namespace rochound::softgpu::shim;  // NOLINT: the definitions below are global by nature

ROCHOUND_INTERPOSE int ioctl(int fd, unsigned long request, ...) noexcept {
  void* argument = nullptr;
  ROCHOUND_LAST_ARGUMENT(argument, request, void*);
  if (IsOurs(fd) && (_IOC_TYPE(request) == kKfdType || _IOC_TYPE(request) == kDrmType))
    return Returned(Core()->control(fd, request, argument));
  if (auto* next = next_ioctl.IfResolved()) return next(fd, request, argument);
  return static_cast<int>(syscall(SYS_ioctl, fd, request, argument));
}

ROCHOUND_INTERPOSE void* mmap(void* address, size_t length, int protection, int flags, int fd,
                              off_t offset) noexcept {
  return Map(address, length, protection, flags, fd, offset);
}
ROCHOUND_INTERPOSE void* mmap64(void* address, size_t length, int protection, int flags, int fd,
                                off64_t offset) noexcept {
  return Map(address, length, protection, flags, fd, offset);
}

ROCHOUND_INTERPOSE int munmap(void* address, size_t length) noexcept {
  Unmapping(address, length);
  if (auto* next = next_munmap.IfResolved()) return next(address, length);
  return static_cast<int>(syscall(SYS_munmap, address, length));
}

ROCHOUND_INTERPOSE void* mremap(void* address, size_t old_length, size_t new_length, int flags,
                                ...) noexcept {
  void* target = nullptr;
  if ((flags & MREMAP_FIXED) != 0) ROCHOUND_LAST_ARGUMENT(target, flags, void*);
  Unmapping(address, old_length);
  if (target != nullptr) Unmapping(target, new_length);
  if (auto* next = next_mremap.IfResolved())
    return next(address, old_length, new_length, flags, target);
  return reinterpret_cast<void*>(
      syscall(SYS_mremap, address, old_length, new_length, flags, target));
}

ROCHOUND_INTERPOSE int close(int fd) {
  if (IsOurs(fd) && InOwningProcess()) {
    Forget(fd);
    Core()->closing(fd);
  }
  if (auto* next = next_close.IfResolved()) return next(fd);
  return static_cast<int>(syscall(SYS_close, fd));
}

ROCHOUND_INTERPOSE int drmOpenRender(int minor) {
  if (const SoftgpuCore* core = Core()) return Returned(core->open_render(minor, 0));
  auto* next = next_drmOpenRender.Resolve();
  return next == nullptr ? -ENOSYS : next(minor);
}

ROCHOUND_INTERPOSE int drmClose(int fd) {
  if (IsOurs(fd)) return close(fd);
  auto* next = next_drmClose.Resolve();
  return next == nullptr ? close(fd) : next(fd);
}

ROCHOUND_INTERPOSE int drmCommandWriteRead(int fd, unsigned long index, void* data,
                                           unsigned long size) {
  if (IsOurs(fd)) return Core()->drm_command(fd, index, data, size);
  auto* next = next_drmCommandWriteRead.Resolve();
  return next == nullptr ? -ENOSYS : next(fd, index, data, size);
}

ROCHOUND_INTERPOSE int amdgpu_device_initialize(int fd, uint32_t* major, uint32_t* minor,
                                                void** device) {
  if (IsOurs(fd)) return Core()->device_initialize(fd, major, minor, device);
  auto* next = next_device_initialize.Resolve();
  return next == nullptr ? -ENOSYS : next(fd, major, minor, device);
}

// From here on the handle tells nothing: with a device tree all of them are the core's.
#define ROCHOUND_FORWARD(member, next_function, failure, ...)             \
  if (const SoftgpuCore* core = Core()) return core->member(__VA_ARGS__); \
  auto* next = next_function.Resolve();                                   \
  return next == nullptr ? (failure) : next(__VA_ARGS__)

ROCHOUND_INTERPOSE int amdgpu_device_deinitialize(void* device) {
  ROCHOUND_FORWARD(device_deinitialize, next_device_deinitialize, -ENOSYS, device);
}
ROCHOUND_INTERPOSE int amdgpu_device_get_fd(void* device) {
  ROCHOUND_FORWARD(device_get_fd, next_device_get_fd, -ENOSYS, device);
}
ROCHOUND_INTERPOSE const char* amdgpu_get_marketing_name(void* device) {
  ROCHOUND_FORWARD(marketing_name, next_get_marketing_name, nullptr, device);
}
ROCHOUND_INTERPOSE int amdgpu_query_gpu_info(void* device, void* info) {
  ROCHOUND_FORWARD(query_gpu_info, next_query_gpu_info, -ENOSYS, device, info);
}
ROCHOUND_INTERPOSE int amdgpu_bo_import(void* device, int type, uint32_t shared, void* result) {
  ROCHOUND_FORWARD(bo_import, next_bo_import, -ENOSYS, device, type, shared, result);
}
ROCHOUND_INTERPOSE int amdgpu_bo_export(void* bo, int type, uint32_t* shared) {
  ROCHOUND_FORWARD(bo_export, next_bo_export, -ENOSYS, bo, type, shared);
}
ROCHOUND_INTERPOSE int amdgpu_bo_free(void* bo) {
  ROCHOUND_FORWARD(bo_free, next_bo_free, -ENOSYS, bo);
}
ROCHOUND_INTERPOSE int amdgpu_bo_cpu_map(void* bo, void** address) {
  ROCHOUND_FORWARD(bo_cpu_map, next_bo_cpu_map, -ENOSYS, bo, address);
}
ROCHOUND_INTERPOSE int amdgpu_bo_cpu_unmap(void* bo) {
  ROCHOUND_FORWARD(bo_cpu_unmap, next_bo_cpu_unmap, -ENOSYS, bo);
}
ROCHOUND_INTERPOSE int amdgpu_bo_query_info(void* bo, void* info) {
  ROCHOUND_FORWARD(bo_query_info, next_bo_query_info, -ENOSYS, bo, info);
}
ROCHOUND_INTERPOSE int amdgpu_bo_set_metadata(void* bo, void* metadata) {
  ROCHOUND_FORWARD(bo_set_metadata, next_bo_set_metadata, -ENOSYS, bo, metadata);
}
ROCHOUND_INTERPOSE int amdgpu_bo_va_op(void* bo, uint64_t offset, uint64_t size, uint64_t address,
                                       uint64_t flags, uint32_t operation) {
  ROCHOUND_FORWARD(bo_va_op, next_bo_va_op, -ENOSYS, bo, offset, size, address, flags, operation);
}
