// SPDX-License-Identifier: MIT
//
// How many waves of a kernel fit on a GPU at once, by its resources, and which of these is in the
// way: theory, from the sizes of register files and LDS, as the compiler counts. Pure functions,
// any thread. A GPU that is not in the table is an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"

namespace rochound::codeobj {

// "CU" below: what a workgroup's waves share. That is a WGP of two CUs where a kernel was compiled
// for it, which is usual from gfx10 on.
struct Occupancy {
  struct Limit {
    std::string resource;  // "wave slots", "VGPRs", "SGPRs", "LDS", "workgroup size"
    uint32_t waves_per_simd = 0;
  };

  uint32_t waves_per_simd = 0;  // what is possible
  uint32_t slots_per_simd = 0;  // what the GPU could hold
  uint32_t simds = 0;           // per CU or WGP
  bool wgp = false;
  uint32_t waves_per_workgroup = 0;
  uint32_t workgroups = 0;           // per CU or WGP, all limits together
  uint32_t workgroups_by_slots = 0;  // if registers and LDS were no limit
  uint32_t vgprs = 0;                // per lane as allocated, with AGPRs where they share the file
  uint32_t vgprs_per_simd = 0;
  bool more_than_metadata = false;  // the descriptor, which counts, has more than the metadata
  uint64_t lds = 0;                 // per workgroup, as allocated
  uint64_t lds_per_cu = 0;          // or per WGP
  std::vector<Limit> limits;        // of every resource, the tightest first
  // The resources that allow no more than waves_per_simd; empty when all slots are filled.
  std::vector<std::string> limited_by;

  double fraction() const { return static_cast<double>(waves_per_simd) / slots_per_simd; }
};

// workgroup_size: work-items; 0 takes the largest that the kernel allows. lds: bytes of static and
// dynamic LDS together.
base::Result<Occupancy> TheoreticalOccupancy(const Target& target, const Kernel& kernel,
                                             uint64_t workgroup_size, uint64_t lds);

}  // namespace rochound::codeobj
