// SPDX-License-Identifier: MIT
//
// What recording a call costs, and how fast logs are read: figures for `./dev bench recorder`.
// Called on one thread, in a program of its own; nothing else should write logs meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace rochound::trace {

struct RecordCost {
  double bare_ns;      // two time stamps and a 32-byte store into a mapped file
  double recorded_ns;  // a whole recorded call: time stamps, open call noted, record committed
  double ratio;        // of the two; each the median of many short turns, taken in turns
  uint64_t dropped;    // records; 0 or the figures mean little
};

// Writes into a folder of its own below `parent`.
base::Result<RecordCost> MeasureRecordCost(const std::filesystem::path& parent, int turns = 300);

struct ReadRate {
  uint64_t records;
  double open_per_second;   // records: opening the log, which looks at each of them
  double visit_per_second;  // records: streaming them as events
  double megabytes;
};

// Writes a log of about so many records first: calls, a third of them with arguments.
base::Result<ReadRate> MeasureReadRate(const std::filesystem::path& parent, uint64_t records);

}  // namespace rochound::trace
