// SPDX-License-Identifier: MIT
//
// Kernels by name and shape with their time on the critical path, what they need of a compute unit
// and how many the GPU has. Used by the rules about kernels. Resources come from the code objects
// of the program's files, as far as these are still where they were when it ran.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/findings/picture.h"
#include "codeobj/occupancy.h"

namespace rochound::analysis {

struct KernelShape {
  std::string kernel, mangled;
  std::string grid, workgroup;  // 4096x1x1
  int64_t session = 0, agent = 0;
  int64_t calls = 0;
  int64_t path_ns = 0;
  int64_t workgroups = 0, workgroup_size = 0, lds = 0;
  int64_t compute_units = 0;  // of its GPU; 0: not known
  std::string processor;      // gfx942
};

// Those of the program itself, most time first.
std::vector<KernelShape> LoadKernelShapes(const Picture& picture);

// How many workgroups the GPU has to run while kernels of this shape do, those of others beside it
// too, on average over the longest of its launches.
double WorkgroupsAtOnce(const Picture& picture, const KernelShape& shape);

// nullopt: the kernel's code object was not found, or its GPU is not known.
std::optional<codeobj::Occupancy> OccupancyOf(const Picture& picture, const KernelShape& shape);

}  // namespace rochound::analysis
