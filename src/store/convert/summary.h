// SPDX-License-Identifier: MIT
//
// What a conversion found, added up on the way so that nobody has to read the trace again for a
// summary. Filled by SummarySink, process after process; plain data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/rpd/gpu_usage.h"
#include "store/rpd/run_ending.h"

namespace rochound::store {

struct Summary {
  struct Total {
    uint64_t count = 0;
    int64_t ns = 0;
  };
  struct Lost {
    int64_t pid = 0;
    std::string what;
    uint64_t count = 0;
    std::string note;
  };

  uint64_t processes = 0;
  uint64_t running = 0;  // of those: not ended, so there will be more
  uint64_t records = 0;
  uint64_t calls = 0;    // of HIP and HSA
  uint64_t ranges = 0;   // and marks, of the program
  uint64_t kernels = 0;  // dispatches of the program's kernels
  uint64_t runtime_kernels = 0;
  uint64_t swapped = 0;           // kernels of the program whose place others took
  uint64_t swapped_launches = 0;  // of kernels that took the place of others
  uint64_t refused_swaps = 0;     // candidates that did not fit, or not every launch
  uint64_t equal_swaps = 0;       // launches whose results were compared with the candidate's
  uint64_t different_swaps = 0;
  uint64_t unverified_swaps = 0;  // and those of which that could not be said
  uint64_t copies = 0;
  uint64_t copied_bytes = 0;
  int64_t start = INT64_MAX;  // first and last time seen
  int64_t end = 0;
  std::map<std::string, Total, std::less<>> kernels_by_name;
  std::map<std::string, Total, std::less<>> calls_by_name;
  std::vector<Lost> lost;  // empty: nothing is missing
  GpusBusy busy;
  RunEnding ending;
  struct Span {
    int64_t start = 0, end = 0;
  };
  std::vector<Span> unrecorded;    // of any process
  int64_t life_start = INT64_MAX;  // from the first process's to the last one's end
  int64_t life_end = 0;

  void Lived(int64_t from, int64_t to) {
    life_start = std::min(life_start, from);
    life_end = std::max(life_end, to);
  }
  void Seen(int64_t from, int64_t to) {
    start = std::min(start, from);
    end = std::max(end, to);
  }
};

}  // namespace rochound::store
