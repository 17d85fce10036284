// SPDX-License-Identifier: MIT
//
// How fast a flight log becomes a .rpd, and how much memory that takes. For benchmarks only: writes
// a log like that of a program that launches kernels and copies at full rate, converts it in a
// process of its own, and measures that process. One thread.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace rochound::store {

struct ConversionFigures {
  uint64_t events = 0;       // calls, dispatches and copies
  uint64_t log_bytes = 0;    // of records
  uint64_t trace_bytes = 0;  // of the .rpd
  double cpu_seconds = 0;    // user and system, one thread: the best of the rounds
  double wall_seconds = 0;   // of the same round
  uint64_t peak_bytes = 0;   // resident, the greatest of the rounds
};

// Two and a half events per kernel launch. The folder must have room for about 200 bytes per event.
base::Result<ConversionFigures> MeasureConversion(const std::filesystem::path& folder,
                                                  uint64_t events, int rounds);

}  // namespace rochound::store
