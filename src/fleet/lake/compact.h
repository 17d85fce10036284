// SPDX-License-Identifier: MIT
//
// Makes few large files of the many small ones that aggregators write. The same rows are in the
// lake at every instant: a larger file appears whole, and from then on those that were merged into
// it do not count (lake.h). They are removed by the next run, so that a query that has just listed
// them can still read them. May be killed at any instant and run again, anywhere; runs beside
// aggregators, but one at a time for each tenant. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "fleet/lake/lake.h"

namespace rochound::fleet {

struct CompactOptions {
  std::string tenant = "default";
  uint64_t rows = 1'000'000;  // of a large file
  size_t least_files = 8;     // that are worth a merge while their day is not over
  std::string today;          // YYYY-MM-DD; files of days before it are merged from two on
};

struct Compacted {
  size_t files = 0;    // that count, before
  size_t merged = 0;   // of those, into others
  size_t written = 0;  // larger ones
  size_t removed = 0;  // merged by an earlier run
  uint64_t rows = 0;   // that were written
};

base::Result<Compacted> Compact(Lake& lake, const CompactOptions& options);

}  // namespace rochound::fleet
