// SPDX-License-Identifier: MIT
//
// The only link between the preloaded shim and the core that it loads at the first use of a GPU:
// one exported function of the core, which returns a table of functions. Calls come from any thread
// of the program, also before main and after static destructors have run. Plain C types only,
// because the shim has no C++ library. Unless it says otherwise a function returns a value >= 0, or
// minus an errno value; it never sets errno.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Raised whenever this file changes: shim and core are always of the same build.
#define ROCHOUND_SOFTGPU_CORE_VERSION 1
#define ROCHOUND_SOFTGPU_CORE_ENTRY "rochound_softgpu_core"

extern "C" {

// What `map` returns for a descriptor that was one of ours but has been reused for another file
// behind the shim's back (close_range, dup2); the shim then forgets it.
enum { kSoftgpuNotOurs = INT32_MIN };

struct SoftgpuCore {
  uint32_t version;
  uint32_t size;  // of this structure

  // /dev/kfd and /dev/dri/renderD<minor>; flags as for open. The descriptor belongs to the program.
  int (*open_kfd)(int flags);
  int (*open_render)(int minor, int flags);
  // For descriptors that `track` named. `closing` is called just before the descriptor is closed.
  int (*control)(int fd, unsigned long request, void* argument);
  int (*map)(int fd, void* address, size_t length, int protection, int flags, int64_t offset,
             void** result);
  void (*closing)(int fd);
  // The program is about to unmap this memory of its own, or to map something else over it.
  void (*unmapping)(void* address, size_t length);

  // libdrm and libdrm_amdgpu, with their own meanings and structures.
  int (*drm_command)(int fd, unsigned long index, void* data, unsigned long size);
  int (*device_initialize)(int fd, uint32_t* major, uint32_t* minor, void** device);
  int (*device_deinitialize)(void* device);
  int (*device_get_fd)(void* device);
  const char* (*marketing_name)(void* device);
  int (*query_gpu_info)(void* device, void* info);
  int (*bo_import)(void* device, int type, uint32_t shared_handle, void* result);
  int (*bo_export)(void* bo, int type, uint32_t* shared_handle);
  int (*bo_free)(void* bo);
  int (*bo_cpu_map)(void* bo, void** address);
  int (*bo_cpu_unmap)(void* bo);
  int (*bo_query_info)(void* bo, void* info);
  int (*bo_set_metadata)(void* bo, void* metadata);
  int (*bo_va_op)(void* bo, uint64_t offset, uint64_t size, uint64_t address, uint64_t flags,
                  uint32_t operation);
};

// `track` tells the shim that the core made this descriptor and answers for it.
typedef void (*SoftgpuTrack)(int fd);

// nullptr, after a message on stderr, if the core does not know the version.
typedef const SoftgpuCore* (*SoftgpuCoreEntry)(uint32_t version, SoftgpuTrack track);

}  // extern "C"
