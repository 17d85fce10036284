// SPDX-License-Identifier: MIT
#include "softgpu/driver/svm.h"

#include <errno.h>

#include <algorithm>
#include <iterator>

#include "softgpu/memory/address_space.h"

namespace rochound::softgpu {
namespace {

// What the GPU may do there; 0: nothing.
template <typename Attributes>
uint8_t AccessOf(const Attributes* attributes, uint32_t gpu_index) {
  if (attributes == nullptr) return 0;
  if (((attributes->access | attributes->access_in_place) >> gpu_index & 1) == 0) return 0;
  uint8_t access = kRead;
  if ((attributes->flags & kfd::kSvmGpuReadOnly) == 0) access |= kWrite;
  if ((attributes->flags & kfd::kSvmGpuExecute) != 0) access |= kExecute;
  return access;
}

}  // namespace

int SvmRanges::IndexOf(uint32_t gpu_id) const {
  for (const auto& gpu : gpus_)
    if (gpu->facts.gpu_id == gpu_id) return static_cast<int>(gpu->index);
  return -1;
}

int SvmRanges::Check(std::span<const kfd::SvmAttribute> attributes) const {
  for (const kfd::SvmAttribute& attribute : attributes) {
    switch (attribute.type) {
      case kfd::kSvmPreferredLocation:
      case kfd::kSvmPrefetchLocation:
        if (attribute.value != kfd::kSvmLocationSystem &&
            attribute.value != kfd::kSvmLocationUndefined && IndexOf(attribute.value) < 0)
          return -EINVAL;
        break;
      case kfd::kSvmAccess:
      case kfd::kSvmAccessInPlace:
      case kfd::kSvmNoAccess: {
        const int index = IndexOf(attribute.value);
        if (index < 0 || gpus_[index]->device.load(std::memory_order_acquire) == nullptr)
          return -EINVAL;
        break;
      }
      case kfd::kSvmSetFlags:
      case kfd::kSvmClearFlags:
      case kfd::kSvmGranularity:
        break;
      default:
        return -EINVAL;
    }
  }
  return 0;
}

void SvmRanges::Apply(const kfd::SvmAttribute& attribute, Attributes& to) const {
  switch (attribute.type) {
    case kfd::kSvmPreferredLocation:
      to.preferred_location = attribute.value;
      break;
    case kfd::kSvmPrefetchLocation:
      to.prefetch_location = attribute.value;
      break;
    case kfd::kSvmSetFlags:
      to.flags |= attribute.value;
      break;
    case kfd::kSvmClearFlags:
      to.flags &= ~attribute.value;
      break;
    case kfd::kSvmGranularity:
      to.granularity = std::min(attribute.value, 0x3Fu);
      break;
    default: {
      const uint64_t bit = uint64_t{1} << IndexOf(attribute.value);
      to.access &= ~bit;
      to.access_in_place &= ~bit;
      if (attribute.type == kfd::kSvmAccess) to.access |= bit;
      if (attribute.type == kfd::kSvmAccessInPlace) to.access_in_place |= bit;
    }
  }
}

// Afterwards no range reaches over this address.
void SvmRanges::Split(uint64_t at) {
  auto after = ranges_.upper_bound(at);
  if (after == ranges_.begin()) return;
  const auto range = std::prev(after);
  if (range->first == at || range->second.end <= at) return;
  ranges_.emplace_hint(after, at, range->second);
  range->second.end = at;
}

void SvmRanges::MapDifference(uint64_t begin, uint64_t end, const Attributes* before,
                              const Attributes* after) {
  for (const auto& gpu : gpus_) {
    const uint8_t had = AccessOf(before, gpu->index);
    const uint8_t gets = AccessOf(after, gpu->index);
    if (had == gets) continue;
    AddressSpace& space = gpu->device.load(std::memory_order_acquire)->address_space();
    if (gets == 0)
      space.Unmap(begin, end - begin);
    else
      space.Map(begin, end - begin, reinterpret_cast<uint8_t*>(begin), gets);
  }
}

// Joins neighbours that have become equal. A program that registers piece after piece of its heap
// ends up with one range, and the GPUs with one region.
void SvmRanges::Merge(uint64_t begin, uint64_t end) {
  auto range = ranges_.lower_bound(begin);
  if (range != ranges_.begin()) --range;
  while (range != ranges_.end() && range->first <= end) {
    const auto next = std::next(range);
    if (next == ranges_.end()) return;
    if (range->second.end != next->first ||
        !(range->second.attributes == next->second.attributes)) {
      range = next;
      continue;
    }
    range->second.end = next->second.end;
    ranges_.erase(next);
    for (const auto& gpu : gpus_) {
      const uint8_t access = AccessOf(&range->second.attributes, gpu->index);
      if (access == 0) continue;
      gpu->device.load(std::memory_order_acquire)
          ->address_space()
          .Map(range->first, range->second.end - range->first,
               reinterpret_cast<uint8_t*>(range->first), access);
    }
  }
}

int SvmRanges::Set(uint64_t begin, uint64_t size, std::span<const kfd::SvmAttribute> attributes) {
  if (const int error = Check(attributes)) return error;
  const uint64_t end = begin + size;
  for (const auto& gpu : gpus_) {
    const auto next = gpu->mappings.lower_bound(begin);
    if ((next != gpu->mappings.end() && next->first < end) ||
        (next != gpu->mappings.begin() && std::prev(next)->second.end > begin))
      return -EADDRINUSE;
  }
  Split(begin);
  Split(end);
  // Fill the gaps with new ranges, so that the whole of [begin, end) is ranges.
  for (uint64_t at = begin; at < end;) {
    const auto range = ranges_.lower_bound(at);
    if (range != ranges_.end() && range->first == at) {
      at = range->second.end;
      continue;
    }
    const uint64_t gap_end = range == ranges_.end() ? end : std::min(end, range->first);
    ranges_.emplace(at, Range{gap_end, Attributes()});
    at = gap_end;
  }
  for (auto range = ranges_.find(begin); range != ranges_.end() && range->first < end; ++range) {
    const Attributes before = range->second.attributes;
    for (const kfd::SvmAttribute& attribute : attributes)
      Apply(attribute, range->second.attributes);
    MapDifference(range->first, range->second.end, &before, &range->second.attributes);
  }
  Merge(begin, end);
  return 0;
}

int SvmRanges::Get(uint64_t begin, uint64_t size, std::span<kfd::SvmAttribute> attributes) {
  const uint64_t end = begin + size;
  auto range = ranges_.upper_bound(begin);
  if (range != ranges_.begin() && std::prev(range)->second.end > begin) --range;

  // What all ranges in there agree on; gaps do not count, unless there is nothing else.
  Attributes common;
  uint32_t any_flags = common.flags;
  bool first = true;
  for (; range != ranges_.end() && range->first < end; ++range) {
    const Attributes& one = range->second.attributes;
    if (first) {
      common = one;
      any_flags = one.flags;
      first = false;
      continue;
    }
    if (common.preferred_location != one.preferred_location)
      common.preferred_location = kfd::kSvmLocationUndefined;
    if (common.prefetch_location != one.prefetch_location)
      common.prefetch_location = kfd::kSvmLocationUndefined;
    common.flags &= one.flags;
    any_flags |= one.flags;
    common.granularity = std::min(common.granularity, one.granularity);
    common.access &= one.access;
    common.access_in_place &= one.access_in_place;
  }
  for (kfd::SvmAttribute& attribute : attributes) {
    switch (attribute.type) {
      case kfd::kSvmPreferredLocation:
        attribute.value = common.preferred_location;
        break;
      case kfd::kSvmPrefetchLocation:
        attribute.value = common.prefetch_location;
        break;
      case kfd::kSvmSetFlags:
        attribute.value = common.flags;
        break;
      case kfd::kSvmClearFlags:
        attribute.value = ~any_flags;
        break;
      case kfd::kSvmGranularity:
        attribute.value = common.granularity;
        break;
      case kfd::kSvmAccess: {
        const int index = IndexOf(attribute.value);
        if (index < 0) return -EINVAL;
        if ((common.access_in_place >> index & 1) != 0)
          attribute.type = kfd::kSvmAccessInPlace;
        else if ((common.access >> index & 1) == 0)
          attribute.type = kfd::kSvmNoAccess;
        break;
      }
      default:
        return -EINVAL;
    }
  }
  return 0;
}

void SvmRanges::Evict(uint64_t begin, uint64_t end) {
  if (ranges_.empty()) return;
  Split(begin);
  Split(end);
  auto range = ranges_.lower_bound(begin);
  while (range != ranges_.end() && range->first < end) {
    MapDifference(range->first, range->second.end, &range->second.attributes, nullptr);
    range = ranges_.erase(range);
  }
}

}  // namespace rochound::softgpu
