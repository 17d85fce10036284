// SPDX-License-Identifier: MIT
//
// The structures that libdrm_amdgpu's functions exchange with their callers, as far as ROCr uses
// them. Their layout has not changed since the library exists.
#pragma once

#include <cstdint>

namespace rochound::softgpu::drm {

inline constexpr uint32_t kInterfaceMajor = 3;
inline constexpr uint32_t kInterfaceMinor = 64;

inline constexpr unsigned long kCommandGemMmap = 0x01;

union GemMmap {
  struct {
    uint32_t handle;
    uint32_t pad;
  } in;
  struct {
    uint64_t offset;
  } out;
};
static_assert(sizeof(GemMmap) == 8);

enum HandleType : int {
  kHandleFlink = 0,
  kHandleKms = 1,
  kHandleDmabuf = 2,
  kHandleKmsNoImport = 3
};

enum VaOperation : uint32_t { kVaMap = 1, kVaUnmap = 2, kVaClear = 3, kVaReplace = 4 };

enum Domain : uint32_t { kDomainGtt = 0x2, kDomainVram = 0x4 };

struct BoMetadata {
  uint64_t flags;
  uint64_t tiling_info;
  uint32_t size_metadata;
  uint32_t umd_metadata[64];
};
static_assert(sizeof(BoMetadata) == 280);

struct BoInfo {
  uint64_t alloc_size;
  uint64_t phys_alignment;
  uint32_t preferred_heap;
  uint64_t alloc_flags;
  BoMetadata metadata;
};
static_assert(sizeof(BoInfo) == 312);

struct BoImportResult {
  void* buf_handle;
  uint64_t alloc_size;
};
static_assert(sizeof(BoImportResult) == 16);

struct GpuInfo {
  uint32_t asic_id;
  uint32_t chip_rev;
  uint32_t chip_external_rev;
  uint32_t family_id;
  uint64_t ids_flags;
  uint64_t max_engine_clk;  // kHz
  uint64_t max_memory_clk;  // kHz
  uint32_t num_shader_engines;
  uint32_t num_shader_arrays_per_engine;
  uint32_t avail_quad_shader_pipes;
  uint32_t max_quad_shader_pipes;
  uint32_t cache_entries_per_quad_pipe;
  uint32_t num_hw_gfx_contexts;
  uint32_t rb_pipes;
  uint32_t enabled_rb_pipes_mask;
  uint32_t gpu_counter_freq;  // kHz
  uint32_t backend_disable[4];
  uint32_t mc_arb_ramcfg;
  uint32_t gb_addr_cfg;
  uint32_t gb_tile_mode[32];
  uint32_t gb_macro_tile_mode[16];
  uint32_t pa_sc_raster_cfg[4];
  uint32_t pa_sc_raster_cfg1[4];
  uint32_t cu_active_number;
  uint32_t cu_ao_mask;
  uint32_t cu_bitmap[4][4];
  uint32_t vram_type;
  uint32_t vram_bit_width;
  uint32_t ce_ram_size;
  uint32_t vce_harvest_config;
  uint32_t pci_rev_id;
};
static_assert(sizeof(GpuInfo) == 416);

}  // namespace rochound::softgpu::drm
