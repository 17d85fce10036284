// SPDX-License-Identifier: MIT
//
// A GPU model of the software GPU, as described by one JSON file (src/softgpu/devices/README.md
// explains the fields). Read by `rochound softgpu` before it starts the program; plain values, any
// thread. Reading is strict: a missing, an unknown or an impossible field is an error that names
// the file and the field.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rochound::softgpu {

struct CacheModel {
  bool instruction = false;  // else data
  uint64_t level = 0;
  uint64_t kilobytes = 0;
  uint64_t line_bytes = 0;
  uint64_t entries = 0;  // how often it is listed
};

struct GpuModel {
  std::string name;
  std::string marketing_name;
  std::string kfd_name;  // what the driver calls the chip
  std::string target;    // gfx942

  uint64_t device_id = 0;
  uint64_t revision_id = 0;
  uint64_t family_id = 0;
  uint64_t asic_revision = 0;

  uint64_t cu_count = 0;
  uint64_t num_xcc = 0;
  uint64_t shader_engines = 0;
  uint64_t arrays_per_engine = 0;
  uint64_t cu_per_array = 0;
  uint64_t simd_per_cu = 0;
  uint64_t wave_size = 0;
  uint64_t max_waves_per_simd = 0;
  uint64_t scratch_slots_per_cu = 0;
  uint64_t lds_bytes = 0;
  uint64_t vgprs_per_simd = 0;
  uint64_t max_vgprs_per_wave = 0;
  uint64_t max_sgprs_per_wave = 0;

  uint64_t vram_bytes = 0;
  uint64_t vram_type = 0;
  uint64_t vram_width_bits = 0;
  uint64_t vram_host_visible = 0;
  uint64_t memory_clock_mhz = 0;
  uint64_t memory_ecc = 0;
  uint64_t sram_ecc = 0;
  uint64_t engine_clock_mhz = 0;
  uint64_t counter_khz = 0;

  uint64_t sdma_engines = 0;
  uint64_t sdma_xgmi_engines = 0;
  uint64_t sdma_queues_per_engine = 0;
  uint64_t cp_queues = 0;
  uint64_t gws = 0;
  uint64_t cp_firmware = 0;
  uint64_t sdma_firmware = 0;

  uint64_t pcie_mb_per_s = 0;
  uint64_t xgmi_mb_per_s = 0;  // 0: has no XGMI

  std::vector<CacheModel> caches;

  // As KFD writes it: gfx90a is 90010, gfx1030 is 100300.
  uint64_t GfxTargetVersion() const;
};

// The numbers of a model, with the name they have in the JSON file and in a device's .conf file.
struct NumberField {
  const char* key;
  uint64_t GpuModel::* member;
  uint64_t least;
  uint64_t most;
};
const std::vector<NumberField>& NumberFields();

// file_name appears in errors only.
base::Result<GpuModel> ParseGpuModel(std::string_view json, const std::string& file_name);
base::Result<GpuModel> LoadGpuModel(const std::filesystem::path& file);

// All models of a directory, sorted by name.
base::Result<std::vector<GpuModel>> LoadGpuModels(const std::filesystem::path& directory);

// Those that come with rochound.
base::Result<std::vector<GpuModel>> LoadKnownGpuModels();

// The model called name among known; what is a path (has a '/' or ends in .json) is loaded from
// that file.
base::Result<GpuModel> PickGpuModel(const std::string& name, const std::vector<GpuModel>& known);

}  // namespace rochound::softgpu
