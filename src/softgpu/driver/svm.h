// SPDX-License-Identifier: MIT
//
// Shared virtual memory: ranges of the program's own memory that GPUs may use at the program's own
// addresses. Runtimes register host memory and make managed memory this way. Every GPU reaches the
// program's bytes directly, so nothing ever migrates: locations and granularity are only
// remembered. There are no recoverable faults (XNACK): a GPU sees a range from the call that grants
// it access.
//
// A range lives until the program unmaps its memory. The shim tells of the munmap calls that it
// sees. What it does not see (the C library's own) shows when a GPU touches the addresses, see
// machine/lost_pages.h, or when the driver puts something else there: a range gives way to any
// buffer. Called under MemoryManager's lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "softgpu/driver/gpu.h"
#include "softgpu/driver/kfd_abi.h"

namespace rochound::softgpu {

class SvmRanges {
 public:
  explicit SvmRanges(std::vector<std::unique_ptr<Gpu>>& gpus) : gpus_(gpus) {}

  // 0 or -errno, as the kernel answers. The caller has checked that the program has memory there.
  int Set(uint64_t begin, uint64_t size, std::span<const kfd::SvmAttribute> attributes);
  int Get(uint64_t begin, uint64_t size, std::span<kfd::SvmAttribute> attributes);

  // No GPU may use these addresses any more.
  void Evict(uint64_t begin, uint64_t end);

  bool empty() const { return ranges_.empty(); }

 private:
  struct Attributes {
    uint32_t preferred_location = kfd::kSvmLocationUndefined;
    uint32_t prefetch_location = kfd::kSvmLocationUndefined;
    uint32_t flags = kfd::kSvmHostAccess | kfd::kSvmCoherent;
    uint32_t granularity = 9;
    uint64_t access = 0;  // bit per Gpu::index
    uint64_t access_in_place = 0;

    bool operator==(const Attributes&) const = default;
  };
  struct Range {
    uint64_t end = 0;
    Attributes attributes;
  };
  using Ranges = std::map<uint64_t, Range>;  // by begin; disjoint

  int IndexOf(uint32_t gpu_id) const;
  int Check(std::span<const kfd::SvmAttribute> attributes) const;
  void Apply(const kfd::SvmAttribute& attribute, Attributes& to) const;
  void Split(uint64_t at);
  void MapDifference(uint64_t begin, uint64_t end, const Attributes* before,
                     const Attributes* after);
  void Merge(uint64_t begin, uint64_t end);

  std::vector<std::unique_ptr<Gpu>>& gpus_;
  Ranges ranges_;
};

}  // namespace rochound::softgpu
