// SPDX-License-Identifier: MIT
//
// The GPUs as the kernel shows them in files: KFD's topology and DRM's render nodes. Called by
// facts.h; any thread, plain values. What a driver does not show stays empty.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "doctor/sysroot.h"

namespace rochound::doctor {

struct KfdGpu {
  int node = -1;
  uint64_t gpu_id = 0;
  std::string name;  // the driver's name of the chip
  Properties properties;
  uint64_t memory_bytes = 0;
  uint64_t memory_width = 0;
  uint64_t memory_clock_mhz = 0;
  bool memory_public = false;                // the host may map all of it
  std::map<uint64_t, uint64_t> cache_bytes;  // by level, data caches of that level added up

  uint64_t Get(const char* property) const;
  uint64_t compute_units() const;
  std::string target() const;  // gfx1030
  std::string pci() const;     // 0000:03:00.0
};

struct DrmGpu {
  int render_minor = -1;
  std::string pci;  // empty where sysfs does not say
  uint64_t device_id = 0;
  uint64_t revision = 0;
  std::string product;  // by device id and revision, from libdrm's list
  std::optional<uint64_t> vram_bytes;
  std::optional<uint64_t> visible_vram_bytes;
  std::string compute_partition;  // SPX, CPX, ...
  std::string memory_partition;   // NPS1, ...
  std::optional<uint64_t> highest_sclk_mhz;
  std::map<std::string, std::string> firmware;  // mec_fw_version -> 0x00000062
};

// GPUs only, in the order of their nodes.
std::vector<KfdGpu> ReadKfd(const Sysroot& root);
// AMD's only, in the order of their minors.
std::vector<DrmGpu> ReadDrm(const Sysroot& root);

// "gfx90a" for 90010, KFD's gfx_target_version; the last two digits are hexadecimal.
std::string TargetOfVersion(uint64_t version);

}  // namespace rochound::doctor
