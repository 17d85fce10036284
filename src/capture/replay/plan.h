// SPDX-License-Identifier: MIT
//
// Which addresses a bundle needs, and what is in their way. Pure functions over plain values:
// the replay program asks them before it touches the GPU. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/manifest.h"

namespace rochound::capture::replay {

// A piece of address space that is reserved and backed at once.
struct Mapping {
  uint64_t base = 0;
  uint64_t size = 0;
  int32_t owner = -1;  // of its first region: index into the manifest's agents
  std::vector<uint32_t> regions;

  uint64_t end() const { return base + size; }
};

// The taken regions, rounded to the granule. Regions that share a granule share a mapping, and so
// do neighbours of the same owner.
std::vector<Mapping> PlanMappings(std::span<const Region> regions, uint64_t granule);

uint64_t BytesOf(std::span<const Mapping> mappings);

// The region that this address is in; -1: none.
int32_t RegionAt(std::span<const Region> regions, uint64_t address);

// "region 3 (pool, 0x7f0000000000 +4096)".
std::string NameOf(std::span<const Region> regions, uint32_t region);

// A line of /proc/self/maps.
struct ProcessMap {
  uint64_t base = 0, end = 0;
  std::string permissions;  // "rw-p"
  std::string path;         // "[heap]", "/usr/lib/..."; empty: anonymous
};

std::vector<ProcessMap> ParseMaps(std::string_view text);

// Which of our mappings cannot be had because of which existing one.
struct Obstacle {
  ProcessMap in_the_way;
  uint32_t region = 0;  // the first region that it meets
};

std::optional<Obstacle> FindObstacle(std::span<const ProcessMap> maps, const Mapping& wanted,
                                     std::span<const Region> regions);

// "/usr/lib/libc.so.6 (r-xp, 0x..-0x..) is where region 3 (...) was".
std::string Describe(const Obstacle& obstacle, std::span<const Region> regions);

}  // namespace rochound::capture::replay
