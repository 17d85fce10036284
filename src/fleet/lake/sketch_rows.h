// SPDX-License-Identifier: MIT
//
// Sketches out of the lake's view, merged by what they have in common. DuckDB adds up the buckets:
// what comes out is as large as the answer, not as the lake. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/sketch/histogram.h"
#include "store/open/duck.h"

namespace rochound::fleet {

struct MergedSketch {
  Histogram ns;
  uint64_t launches = 0, untimed = 0, work_items = 0;
  uint64_t first_ns = UINT64_MAX;  // the beginning of the first interval
};
using MergedSketches = std::map<std::vector<std::string>, MergedSketch>;

// keys: expressions over the view `sketches`; condition: which of its rows.
base::Result<MergedSketches> MergeSketches(store::duck::Connection& database,
                                           const std::vector<std::string>& keys,
                                           const std::string& condition);

}  // namespace rochound::fleet
