// SPDX-License-Identifier: MIT
#include "capture/replay/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace rochound::capture::replay {

std::vector<Mapping> PlanMappings(std::span<const Region> regions, uint64_t granule) {
  std::vector<Mapping> mappings;
  for (uint32_t i = 0; i < regions.size(); ++i) {
    const Region& region = regions[i];
    if (!region.taken || region.size == 0) continue;
    const uint64_t base = region.base / granule * granule;
    const uint64_t end = (region.base + region.size + granule - 1) / granule * granule;
    if (!mappings.empty()) {
      Mapping& last = mappings.back();
      const bool shared = base < last.end();
      if (shared || (base == last.end() && region.owner == last.owner)) {
        last.size = std::max(last.end(), end) - last.base;
        last.regions.push_back(i);
        continue;
      }
    }
    mappings.push_back({base, end - base, region.owner, {i}});
  }
  return mappings;
}

uint64_t BytesOf(std::span<const Mapping> mappings) {
  uint64_t bytes = 0;
  for (const Mapping& mapping : mappings) bytes += mapping.size;
  return bytes;
}

int32_t RegionAt(std::span<const Region> regions, uint64_t address) {
  const auto above =
      std::upper_bound(regions.begin(), regions.end(), address,
                       [](uint64_t wanted, const Region& region) { return wanted < region.base; });
  if (above == regions.begin()) return -1;
  const auto found = above - 1;
  return address - found->base < found->size ? static_cast<int32_t>(found - regions.begin()) : -1;
}

std::string NameOf(std::span<const Region> regions, uint32_t region) {
  const Region& named = regions[region];
  return fmt::format("region {} ({}, {:#x} +{})", region, named.kind, named.base, named.size);
}

std::vector<ProcessMap> ParseMaps(std::string_view text) {
  std::vector<ProcessMap> maps;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    unsigned long long base = 0, limit = 0;
    char permissions[5] = {};
    int path = 0;
    if (sscanf(line.c_str(), "%llx-%llx %4s %*s %*s %*s %n", &base, &limit, permissions, &path) < 3)
      continue;
    maps.push_back({base, limit, permissions,
                    path > 0 && static_cast<size_t>(path) < line.size() ? line.substr(path) : ""});
  }
  return maps;
}

std::optional<Obstacle> FindObstacle(std::span<const ProcessMap> maps, const Mapping& wanted,
                                     std::span<const Region> regions) {
  for (const ProcessMap& map : maps) {
    if (map.end <= wanted.base || map.base >= wanted.end()) continue;
    Obstacle obstacle{map, wanted.regions.front()};
    for (const uint32_t region : wanted.regions) {
      if (regions[region].base < map.end &&
          map.base < regions[region].base + regions[region].size) {
        obstacle.region = region;
        break;
      }
    }
    return obstacle;
  }
  return std::nullopt;
}

std::string Describe(const Obstacle& obstacle, std::span<const Region> regions) {
  const ProcessMap& map = obstacle.in_the_way;
  return fmt::format("{} ({}, {:#x}-{:#x}) is where {} has to be",
                     map.path.empty() ? "an anonymous mapping" : "'" + map.path + "'",
                     map.permissions, map.base, map.end, NameOf(regions, obstacle.region));
}

}  // namespace rochound::capture::replay
