// SPDX-License-Identifier: MIT
#include "softgpu/counters/wave_schedule.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace rochound::softgpu {
namespace {

// A compute unit that takes workgroups in the order of their numbers.
class Unit {
 public:
  // When this many waves find room.
  uint64_t WhenFree(uint64_t waves, uint64_t places) {
    while (!ends_.empty() && (ends_.size() + waves > places || ends_.top() <= last_)) {
      last_ = std::max(last_, ends_.top());
      ends_.pop();
    }
    return last_;
  }
  void Add(uint64_t end) { ends_.push(end); }

 private:
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> ends_;
  uint64_t last_ = 0;  // start of the workgroup that came last
};

struct Stay {
  uint64_t begin, end;
};

}  // namespace

WaveSchedule ScheduleWaves(std::vector<WaveLength> waves, uint64_t units, uint64_t places) {
  WaveSchedule schedule;
  std::stable_sort(waves.begin(), waves.end(),
                   [](const auto& a, const auto& b) { return a.group < b.group; });
  std::vector<Unit> unit_of(std::max<uint64_t>(1, units));
  std::vector<Stay> stays;
  stays.reserve(waves.size());
  for (size_t first = 0; first < waves.size();) {
    size_t end = first;
    while (end < waves.size() && waves[end].group == waves[first].group) ++end;
    Unit& unit = unit_of[waves[first].group % unit_of.size()];
    const uint64_t begin = unit.WhenFree(end - first, std::max<uint64_t>(1, places));
    for (; first < end; ++first) {
      stays.push_back({begin, begin + waves[first].cycles});
      unit.Add(stays.back().end);
      schedule.cycles = std::max(schedule.cycles, stays.back().end);
    }
  }
  if (schedule.cycles == 0) return schedule;
  schedule.step = (schedule.cycles + kMostScheduleSteps - 1) / kMostScheduleSteps;
  const uint64_t steps = (schedule.cycles + schedule.step - 1) / schedule.step;
  schedule.wave_cycles.assign(steps, 0);
  // Waves that are there for the whole of a step, as changes from one step to the next.
  std::vector<int64_t> whole(steps + 1, 0);
  for (const Stay& stay : stays) {
    if (stay.begin == stay.end) continue;
    const uint64_t from = stay.begin / schedule.step;
    const uint64_t to = (stay.end - 1) / schedule.step;
    if (from == to) {
      schedule.wave_cycles[from] += stay.end - stay.begin;
      continue;
    }
    schedule.wave_cycles[from] += (from + 1) * schedule.step - stay.begin;
    schedule.wave_cycles[to] += stay.end - to * schedule.step;
    ++whole[from + 1];
    --whole[to];
  }
  int64_t there = 0;
  for (uint64_t i = 0; i < steps; ++i) {
    there += whole[i];
    schedule.wave_cycles[i] += static_cast<uint64_t>(there) * schedule.step;
  }
  return schedule;
}

}  // namespace rochound::softgpu
