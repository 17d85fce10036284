// SPDX-License-Identifier: MIT
//
// How many waves of a dispatch would be resident over time, by the cost model: each takes what it
// takes alone, and workgroups come to their compute units in order, when there is room. Nothing of
// it is measured. A pure function.
#pragma once

#include <cstdint>
#include <vector>

namespace rochound::softgpu {

// What one wave took alone.
struct WaveLength {
  uint64_t group = 0;  // the number of its workgroup
  uint64_t cycles = 0;
};

struct WaveSchedule {
  uint64_t step = 0;                  // cycles of each but the last
  uint64_t cycles = 0;                // of all
  std::vector<uint64_t> wave_cycles;  // cycles of resident waves in each step
};

// At most this many steps; more cannot be seen.
inline constexpr uint64_t kMostScheduleSteps = 400;

// Workgroup n is on unit n modulo the units; places: waves that a unit holds at once. A workgroup
// that is larger than a unit has it to itself.
WaveSchedule ScheduleWaves(std::vector<WaveLength> waves, uint64_t units, uint64_t places);

}  // namespace rochound::softgpu
