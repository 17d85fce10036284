// SPDX-License-Identifier: MIT
//
// Operations of a kernel from its instructions and how often a thread trace has seen each of them:
// for GPUs that have no counters of operations (RDNA). What a wave of the trace did on average is
// taken for what every wave of a launch did, and all lanes count, as they do in counters. Pure
// functions; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profile/thread_trace.h"

namespace rochound::profile {

// What one instruction computes that is work (roofline.h): operations by unit and type.
struct InstructionWork {
  std::string type;    // "vector.f32", "matrix.bf16"
  double of_lane = 0;  // for each lane
  double of_wave = 0;  // for the wave, however many lanes it has
};
// Empty: it moves, compares, converts, or computes addresses. Two for an instruction that issues
// two ("v_dual_... :: v_dual_...").
std::vector<InstructionWork> WorkOf(std::string_view instruction);

struct InstructionMix {
  std::string symbol, name;
  uint64_t waves = 0;  // that were traced
  unsigned wave_size = 32;
  std::map<std::string, double> per_wave;  // operations
};

// One for each kernel; several traces of it are added up. Without a wave that began there is none.
std::vector<InstructionMix> MixesOf(const ThreadTraces& traces);

// By symbol or C++ name; null: there is none.
const InstructionMix* FindMix(const std::vector<InstructionMix>& mixes, std::string_view kernel);

// In work-items.
double WavesOf(const std::array<uint64_t, 3>& grid, const std::array<uint64_t, 3>& workgroup,
               unsigned wave_size);

}  // namespace rochound::profile
