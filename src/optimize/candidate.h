// SPDX-License-Identifier: MIT
//
// A candidate as a file: found in what it is in, compared with the captured kernel before
// anything runs, and its resources beside the captured ones. Pure but for reading nothing; any
// thread. The candidate's bytes come from anybody.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"
#include "codeobj/swap.h"
#include "optimize/reason.h"

namespace rochound::optimize {

struct Resources {
  uint64_t vgprs = 0, agprs = 0, sgprs = 0;
  uint64_t vgpr_spills = 0, sgpr_spills = 0;
  uint64_t lds = 0;      // of a workgroup, static and dynamic
  uint64_t scratch = 0;  // of a work-item
  uint64_t code = 0;     // bytes
  uint32_t waves = 0;    // per SIMD, in theory; 0: not known for this GPU
  uint32_t slots = 0;
  uint32_t workgroups = 0;  // per CU or WGP; 0, if slots are known: none fits
  std::string limited_by;
};

// A kernel in the file that it was found in. Not copied or moved: the parts refer to each other.
class KernelFile {
 public:
  // bytes: a code object, an offload bundle or a program.
  static base::Result<std::unique_ptr<KernelFile>> Find(std::string bytes,
                                                        const std::string& kernel,
                                                        const codeobj::Target& gpu);
  KernelFile(const KernelFile&) = delete;
  KernelFile& operator=(const KernelFile&) = delete;

  const codeobj::CodeObject& object() const { return *object_; }
  const codeobj::Kernel& kernel() const { return *kernel_; }
  std::string_view object_bytes() const { return object_bytes_; }

 private:
  KernelFile() = default;

  std::string bytes_;
  std::shared_ptr<const std::string> owner_;
  std::string_view object_bytes_;
  std::unique_ptr<codeobj::CodeObject> object_;
  const codeobj::Kernel* kernel_ = nullptr;
};

Resources ResourcesOf(const KernelFile& file, uint64_t workgroup_size, uint64_t lds);

// Whether both have the same instructions and ask for the same resources. Names of compilations,
// which hipcc makes of paths, may differ.
bool SameCode(const KernelFile& one, const KernelFile& other);

// Whether its code, or that of a function it may call, has what orders accesses of different
// workgroups: atomics of global memory, or instructions that give up or write back caches.
bool SynchronisesWorkgroups(const KernelFile& file);

// LDS that a workgroup may have on this GPU.
uint64_t MostLds(const codeobj::Target& gpu);

// Whether the candidate could take the place of the original in this launch: the rules of the
// kernel cache, and those that keep a candidate from knowing more than its arguments.
std::optional<Rejection> CompareFiles(const KernelFile& original, const KernelFile& candidate,
                                      const codeobj::SwapLaunch& launch,
                                      const codeobj::Target& gpu);

}  // namespace rochound::optimize
