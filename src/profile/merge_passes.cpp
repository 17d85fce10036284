// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "profile/counter_source.h"

namespace rochound::profile {

CounterSet MergePasses(const std::vector<CounterSet>& passes) {
  using Shape =
      std::tuple<std::string, std::string, std::array<uint64_t, 3>, std::array<uint64_t, 3>>;
  using Key = std::pair<Shape, size_t>;  // and its number among those of the shape
  CounterSet merged;
  std::map<Key, size_t> places;
  std::map<Key, size_t> seen;
  std::set<std::string> twice;
  for (const CounterSet& pass : passes) {
    merged.warnings.insert(merged.warnings.end(), pass.warnings.begin(), pass.warnings.end());
    std::map<Shape, size_t> numbers;
    for (const Launch& launch : pass.launches) {
      const Shape shape{launch.code_object, launch.kernel, launch.grid, launch.workgroup};
      const Key key{shape, numbers[shape]++};
      ++seen[key];
      const auto [place, is_new] = places.try_emplace(key, merged.launches.size());
      if (is_new) {
        merged.launches.push_back(launch);
        continue;
      }
      Launch& whole = merged.launches[place->second];
      whole.completed = whole.completed && launch.completed;
      // The first pass's time is kept; more counters do not make a launch longer.
      if (!whole.nanoseconds) whole.nanoseconds = launch.nanoseconds;
      for (const auto& [name, value] : launch.exact) {
        if (!whole.exact.emplace(name, value).second) twice.insert(name);
      }
      for (const auto& [name, value] : launch.modelled) whole.modelled.emplace(name, value);
    }
  }
  const auto incomplete = std::count_if(
      seen.begin(), seen.end(), [&](const auto& entry) { return entry.second != passes.size(); });
  if (incomplete != 0) {
    merged.warnings.push_back(
        fmt::format("{} of {} launches are not in every pass: the program did not do the same each "
                    "time, and what a pass lacks is missing",
                    incomplete, seen.size()));
  }
  if (!twice.empty()) {
    merged.warnings.push_back(
        fmt::format("{} counters are in several passes ({}...); the first pass that has one counts",
                    twice.size(), *twice.begin()));
  }
  return merged;
}

}  // namespace rochound::profile
