// SPDX-License-Identifier: MIT
//
// One GPU of this process as the parts of the driver share it. The members below a comment are
// guarded by the part that the comment names; the rest is set once, before anybody else sees it.
// Never destroyed.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "softgpu/driver/device_tree.h"
#include "softgpu/machine/device.h"

namespace rochound::softgpu {

class Storage;

// Where a flat address is local (LDS) or private (scratch) memory, and what GPU memory can have.
inline constexpr uint64_t kLdsApertureBase = uint64_t{1} << 48;
inline constexpr uint64_t kScratchApertureBase = uint64_t{1} << 49;
inline constexpr uint64_t kApertureSize = uint64_t{1} << 32;
inline constexpr uint64_t kGpuVmBase = 0x4000;
// All of a program's addresses, so that a GPU address equals the CPU's.
inline constexpr uint64_t kGpuVmLimit = (uint64_t{1} << 47) - 1;

struct Gpu {
  GpuFacts facts;
  uint32_t index = 0;  // in Driver's list

  // Set by ACQUIRE_VM; nullptr before.
  std::atomic<Device*> device{nullptr};

  // Guarded by MemoryManager.
  struct Mapping {
    uint64_t end = 0;
    const void* owner = nullptr;  // the buffer, or for libdrm's mappings the storage
    bool from_drm = false;
  };
  std::map<uint64_t, Mapping> mappings;  // by begin; disjoint
  uint64_t vram_used = 0;
  Storage* doorbells = nullptr;
  Storage* mmio = nullptr;

  // Guarded by Driver.
  int drm_fd = -1;
  uint32_t drm_references = 0;

  // Guarded by QueueTable.
  std::vector<bool> doorbell_slots;
};

}  // namespace rochound::softgpu
