// SPDX-License-Identifier: MIT
//
// The facts about the GPUs that the device tree names beyond what sysfs shows (see
// devices/README.md). Read once per process, when the program first opens a device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace rochound::softgpu {

struct GpuFacts {
  std::string name;
  std::string marketing_name;
  std::string target;
  uint32_t node = 0;
  uint32_t gpu_id = 0;
  uint32_t render_minor = 0;
  uint32_t device_id = 0;
  uint32_t revision_id = 0;
  uint32_t family_id = 0;
  uint32_t asic_revision = 0;
  uint64_t vram_bytes = 0;
  uint32_t vram_type = 0;
  uint32_t vram_width_bits = 0;
  bool vram_host_visible = false;
  uint32_t memory_clock_mhz = 0;
  uint32_t engine_clock_mhz = 0;
  uint32_t counter_khz = 0;
  uint32_t cu_count = 0;
  uint32_t num_xcc = 0;
  uint32_t shader_engines = 0;
  uint32_t arrays_per_engine = 0;
  uint32_t simd_per_cu = 0;
  uint32_t max_waves_per_simd = 0;
  uint32_t lds_bytes = 0;
  uint32_t gws = 0;
};

// All GPUs, in the order of their nodes. The error names the file and the key.
base::Result<std::vector<GpuFacts>> ReadDeviceTree(const std::string& root);

// One <node>.conf file's content.
base::Result<GpuFacts> ParseGpuFacts(const std::string& text);

}  // namespace rochound::softgpu
