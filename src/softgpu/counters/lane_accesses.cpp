// SPDX-License-Identifier: MIT
#include "softgpu/counters/lane_accesses.h"

#include <algorithm>
#include <array>

namespace rochound::softgpu {

unsigned CountLines(std::span<const MemoryPart> parts, MemorySpace space, uint32_t line_bytes) {
  std::array<uint64_t, 2 * MemoryTrace::kMaxParts> lines;
  unsigned count = 0;
  bool sorted = true;
  for (const MemoryPart& part : parts) {
    if (part.space != space || part.bytes == 0) continue;
    const uint64_t first = part.address / line_bytes;
    const uint64_t last = (part.address + part.bytes - 1) / line_bytes;
    for (uint64_t line = first; line <= last; ++line) {
      if (count != 0 && line == lines[count - 1]) continue;
      sorted = sorted && (count == 0 || line > lines[count - 1]);
      lines[count++] = line;
    }
  }
  if (sorted) return count;
  std::sort(lines.begin(), lines.begin() + count);
  return static_cast<unsigned>(std::unique(lines.begin(), lines.begin() + count) - lines.begin());
}

LdsCost CountLdsCycles(LdsGrouping grouping, MemoryAction action, unsigned bytes,
                       std::span<const MemoryPart> parts) {
  std::array<base::LdsLane, MemoryTrace::kMaxParts> lanes;
  size_t count = 0;
  for (const MemoryPart& part : parts)
    if (part.space == MemorySpace::kLds && count < lanes.size())
      lanes[count++] = {part.address, part.bytes, part.lane};
  const base::LdsAction what = action == MemoryAction::kLoad    ? base::LdsAction::kLoad
                               : action == MemoryAction::kStore ? base::LdsAction::kStore
                                                                : base::LdsAction::kAtomic;
  return base::CountLdsCycles(grouping, what, bytes, std::span(lanes.data(), count));
}

}  // namespace rochound::softgpu
